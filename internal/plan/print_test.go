package plan

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

func TestPrint_showsEveryActionAtAGlance(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := &Plan{Clusters: []*Cluster{{
		Kind: "NvidiaBMMCluster", Namespace: "default", Name: "demo", Notes: []string{"it is paused: nothing is done until it is unpaused"},
		Steps: []graph.Step{
			{Key: "site", Kind: "site", Action: graph.ActionUse, ID: "s-1"},
			{Key: "group/g-1", Kind: "network security group", Action: graph.ActionRelease, ID: "g-1"},
			{Key: "vpc", Kind: "VPC", Action: graph.ActionChange, ID: "v-1",
				Changes: []graph.Change{{Field: "description", From: "a", To: "b"}}},
			{Key: "prefix/a", Kind: "VPC prefix", Action: graph.ActionAdopt, ID: "p-1"},
			{Key: "prefix/b", Kind: "VPC prefix", Action: graph.ActionCreate, After: []string{"vpc", "somewhere"}},
			{Key: "prefix/c", Kind: "VPC prefix", Action: graph.ActionWait, Why: "the service may still finish the last attempt"},
			{Key: "prefix/d", Kind: "VPC prefix", Action: graph.ActionDelete, ID: "p-4"},
			{Key: "prefix/e", Kind: "VPC prefix", Action: graph.ActionRepair, ID: "p-5"},
			{Key: "ControlPlaneEndpointReady", Action: graph.ActionFail, Why: "set spec.controlPlaneEndpoint"},
		},
		Machines: []Machine{{Name: "m-1", Steps: []graph.Step{
			{Key: "instance", Kind: "instance", Action: graph.ActionKeep, ID: "i-1"},
		}}},
		Instances: []Instances{
			{Kind: "MachineDeployment", Name: "a", Action: graph.ActionCreate, Count: 2,
				Instance: Instance{MachineID: "m-7", Networks: []string{"a", "b"}}, Why: "spread"},
			{Kind: "MachineDeployment", Name: "b", Action: graph.ActionDelete, Count: 1, Why: "Cluster API chooses which"},
		},
	}}}
	p.sum()
	var out strings.Builder
	g.Expect(Print(&out, p)).To(Succeed())
	g.Expect(out.String()).To(Equal(`+ create   ~ change   * repair   - delete   & adopt (ours already)   x release (not deleted)   = keep   > use (yours)   ? wait   ! can't be done

NvidiaBMMCluster default/demo
  it is paused: nothing is done until it is unpaused
  > site                       s-1
  x network security group     g-1
  ~ VPC                        v-1
      description: a → b
  & VPC prefix a               p-1
  + VPC prefix b                    after VPC, somewhere
  ? VPC prefix c                    the service may still finish the last attempt
  - VPC prefix d               p-4
  * VPC prefix e               p-5
  ! ControlPlaneEndpointReady       set spec.controlPlaneEndpoint
  = instance of m-1            i-1
  + 2 instances on machine m-7 in a, b for MachineDeployment a: spread
  - 1 instance for MachineDeployment b: Cluster API chooses which

Plan: 3 to create, 1 to change, 1 to repair, 2 to delete, 1 to adopt, 1 to release, 1 kept, 1 used, 1 waiting, 1 can't be done.
`), "\n%s", out.String())
	g.Expect(p.Failures()).To(Equal(1))
}

func TestPrint_saysThatThereIsNothingToDo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := &Plan{Clusters: []*Cluster{{Kind: "NvidiaBMMCluster", Namespace: "default", Name: "demo", Steps: []graph.Step{
		{Key: "vpc", Kind: "VPC", Action: graph.ActionKeep, ID: "v-1"},
	}}}}
	p.sum()
	var out strings.Builder
	g.Expect(Print(&out, p)).To(Succeed())
	g.Expect(out.String()).To(HaveSuffix("\nNothing to do: 1 kept.\n"))
}

// IDs, what differs, and why something can't be done are what a tenant's server says, and the plan is read by an operator.
func TestPrint_letsNoTextMoveTheCursorOrBeginALine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const evil = "a\x1b[2J\r\nNothing to do.\n\u202e"
	p := &Plan{Clusters: []*Cluster{{
		Kind: "NvidiaBMMCluster", Namespace: "default", Name: "demo", Notes: []string{evil},
		Steps: []graph.Step{
			{Key: "vpc", Kind: "VPC", Action: graph.ActionChange, ID: evil, Changes: []graph.Change{{Field: "description", From: evil, To: "b"}}},
			{Key: "subnet/a", Kind: "subnet", Action: graph.ActionFail, Why: evil},
		},
		Machines:  []Machine{{Name: "m-1", Steps: []graph.Step{{Key: "instance", Kind: "instance", Action: graph.ActionKeep, ID: evil}}}},
		Instances: []Instances{{Kind: "MachineDeployment", Name: "a", Action: graph.ActionFail, Count: 1, Instance: Instance{TypeName: evil, Type: evil}, Why: evil}},
	}}}
	p.sum()
	var out strings.Builder
	g.Expect(Print(&out, p)).To(Succeed())
	for line := range strings.Lines(out.String()) {
		g.Expect(line).NotTo(HavePrefix("Nothing to do."))
		g.Expect(line).NotTo(MatchRegexp(`[\x00-\x09\x0b-\x1f\x7f\x{202e}]`))
	}
}
