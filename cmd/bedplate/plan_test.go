package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/plan"
)

// example renders the example; its Secret leads to the simulator by the wire.
func (e *ends) example() string {
	e.t.Helper()
	text, err := examples.Render("bmm", map[string]string{
		"CLUSTER_NAME": "demo", "NAMESPACE": e.Namespace, "KUBERNETES_VERSION": "v1.36.3",
		"CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "2",
		"BMM_ENDPOINT": e.datacenter.url, "BMM_ORG": sim.DefaultOrg, "BMM_TOKEN": sim.DefaultToken,
		"BMM_SITE_ID": sim.DefaultSiteID, "BMM_TENANT_ID": sim.DefaultTenantID, "BMM_IP_BLOCK_ID": sim.DefaultIPBlockID,
		"BMM_INSTANCE_TYPE_ID": sim.DefaultInstanceTypeID, "BMM_OPERATING_SYSTEM_ID": sim.DefaultOperatingSystemID,
		"CONTROL_PLANE_ENDPOINT_HOST": "127.0.0.1", "CONTROL_PLANE_ENDPOINT_PORT": "6443",
	})
	e.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// file is a Secret, a Cluster and an NvidiaBMMCluster, named demo, whose spec continues with the lines given.
func (e *ends) file(spec string) string {
	return strings.NewReplacer(
		"NAMESPACE", e.Namespace, "ENDPOINT", e.datacenter.url, "ORG", sim.DefaultOrg, "TOKEN", sim.DefaultToken,
		"SITE", sim.DefaultSiteID, "TENANT", sim.DefaultTenantID, "SPEC", strings.TrimPrefix(spec, "\n"),
	).Replace(`apiVersion: v1
kind: Secret
metadata: {name: demo}
stringData: {endpoint: "ENDPOINT", orgName: ORG, token: TOKEN}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: demo, namespace: NAMESPACE}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: NvidiaBMMCluster, name: demo}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: NvidiaBMMCluster
metadata: {name: demo}
spec:
  siteRef: {id: SITE}
  tenantID: TENANT
  authentication: {secretRef: {name: demo}}
SPEC
`)
}

const oneSubnet = `
  subnets: [{name: nodes, prefixLength: 24}]`

// but is such a file, with one subnet, in which something is replaced once.
func (e *ends) but(what, by string) string {
	e.t.Helper()
	e.Expect(e.file(oneSubnet)).To(ContainSubstring(what))
	return strings.Replace(e.file(oneSubnet), what, by, 1)
}

// annotated is such a file whose NvidiaBMMCluster has more metadata.
func (e *ends) annotated(metadata string) string {
	return e.but("metadata: {name: demo}\nspec:\n  siteRef", "metadata: {name: demo, "+metadata+"}\nspec:\n  siteRef")
}

func TestPlan_ofTheExample(t *testing.T) {
	t.Parallel()
	e := start(t)
	for format, name := range map[string]string{"text": "plan-example", "json": "plan-example.json"} {
		out, err := e.run(e.example(), "plan", "-f", "-", "-o", format)
		e.Expect(err).NotTo(HaveOccurred())
		e.golden(name, out)
	}
	e.wroteNothing()
}

// halfMade leaves a cluster whose VPC is there, with a machine that has its instance and one that has none, a label that
// another client has changed, and a range that the spec doesn't ask for any more.
func halfMade(e *ends) {
	e.t.Helper()
	object := e.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.SiteRef = infrav1.SiteReference{ID: sim.DefaultSiteID}
		c.Spec.VPC.Labels = infrav1.ResourceLabels{"team": "red"}
		c.Spec.Subnets = append(c.Spec.Subnets, infrav1.SubnetSpec{Name: "old", PrefixLength: ptr.To[int32](24)})
	})
	e.UntilReady(object)
	ofWorkers := func(m *infrav1.NvidiaBMMMachine) {
		m.Labels = map[string]string{clusterv1.ClusterNameLabel: "demo", clusterv1.MachineDeploymentNameLabel: "workers"}
		m.Annotations = map[string]string{clusterv1.TemplateClonedFromNameAnnotation: "workers"}
	}
	e.UntilReady(e.CreateMachine("demo", "worker-1", []byte("#cloud-config"), ofWorkers))
	waiting := e.CreateMachine("demo", "worker-2", []byte("#cloud-config"), ofWorkers)
	e.UntilReason(waiting, infrav1.InstanceProvisionedCondition, "Quota", "")
	e.pauseBetweenAttempts(waiting)
	bmmtest.Change(e.Fixture, object, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.Subnets = append(c.Spec.Subnets, infrav1.SubnetSpec{Name: "new", PrefixLength: ptr.To[int32](16)})
	})
	e.UntilReason(object, infrav1.SubnetsReadyCondition, "Quota", "")
}

// pauseBetweenAttempts pauses a machine whose creates are refused when none is under way: the ledger of a paused one keeps what was attempted.
func (e *ends) pauseBetweenAttempts(object *infrav1.NvidiaBMMMachine) {
	e.t.Helper()
	e.Eventually(func() bool {
		bmmtest.Change(e.Fixture, object, func(m *infrav1.NvidiaBMMMachine) {
			metav1.SetMetaDataAnnotation(&m.ObjectMeta, clusterv1.PausedAnnotation, "")
		})
		e.UntilTrue(object, clusterv1.PausedCondition)
		if !slices.ContainsFunc(e.Ledger(object).Spec.Entries, func(entry ledgerv1.Entry) bool { return entry.State == ledgerv1.Pending }) {
			return true
		}
		bmmtest.Change(e.Fixture, object, func(m *infrav1.NvidiaBMMMachine) { delete(m.Annotations, clusterv1.PausedAnnotation) })
		e.UntilReason(object, infrav1.InstanceProvisionedCondition, "Quota", "")
		return false
	}).Should(BeTrue())
}

const changed = `
  vpc:
    labels: {team: blue, stage: test}
    description: of the blue team
  subnets: [{name: nodes, prefixLength: 24}, {name: new, prefixLength: 16}]
  controlPlaneEndpoint: {host: 127.0.0.1, port: 6443}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: workers}
spec:
  clusterName: demo
  replicas: 5
  template:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: NvidiaBMMMachineTemplate, name: workers}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: NvidiaBMMMachineTemplate
metadata: {name: workers}
spec:
  template:
    spec:
      instanceType: {id: TYPE}
      operatingSystem: {id: SYSTEM}
      network: {subnetName: nodes}`

func TestPlan_ofAHalfMadeCluster(t *testing.T) {
	t.Parallel()
	e := start(t, func(w *sim.Config) { w.InstanceTypes[0].Machines = 1 })
	halfMade(e)
	file := strings.NewReplacer("TYPE", sim.DefaultInstanceTypeID, "SYSTEM", sim.DefaultOperatingSystemID).
		Replace(e.file(changed))
	for format, name := range map[string]string{"text": "plan-half-made", "json": "plan-half-made.json"} {
		var out string
		e.Eventually(func() (_ string, err error) { // again where the next attempt at the refused subnet is just under way
			out, err = e.run(file, "plan", "-f", "-", "-o", format)
			return out, err
		}).ShouldNot(ContainSubstring("the service may still finish"))
		e.golden(name, out)
	}
	e.wroteNothing()
}

func TestPlan_ofAClusterInTheUsersOwnVPC(t *testing.T) {
	t.Parallel()
	e := start(t)
	vpc, err := e.Sim.Make(sim.Object{
		Kind: sim.KindVPC, ID: "0c0c0000-0000-4000-8000-000000000001",
		Request: bmm.VPCCreateRequest{
			Name: "theirs", SiteID: sim.DefaultSiteID, NetworkVirtualizationType: bmm.EthernetVirtualizer,
		},
	})
	e.Expect(err).NotTo(HaveOccurred())
	for format, name := range map[string]string{"text": "plan-own-vpc", "json": "plan-own-vpc.json"} {
		out, err := e.run(e.file("\n  vpc: {id: "+vpc+"}"+oneSubnet), "plan", "-f", "-", "-o", format)
		e.Expect(err).NotTo(HaveOccurred())
		e.golden(name, out)
	}
	e.wroteNothing()
}

// The VPC is there, and the group that it is to be attached to isn't.
func TestPlan_attachesANewGroupToTheVPC(t *testing.T) {
	t.Parallel()
	e := start(t)
	object := e.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.SiteRef = infrav1.SiteReference{ID: sim.DefaultSiteID}
	})
	e.UntilReady(object)
	file := e.file("\n  vpc: {networkSecurityGroup: {rules: [{name: out, direction: egress, protocol: all, action: allow}]}}" + oneSubnet)
	out, err := e.run(file, "plan", "-f", "-", "-o", "json")
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(decodePlan(e, out).Clusters[0].Steps).To(ContainElements(
		And(HaveField("Key", "group"), HaveField("Action", graph.ActionCreate)),
		And(HaveField("Key", "vpc"), HaveField("Action", graph.ActionChange),
			HaveField("Changes", ConsistOf(graph.Change{Field: "networkSecurityGroupId", To: "the new group"}))),
	))
	e.wroteNothing()
}

func TestPlan_ofADeletion(t *testing.T) {
	t.Parallel()
	e := start(t)
	object := e.CreateCluster("demo")
	e.UntilReady(object)
	e.Refuse(http.StatusServiceUnavailable, "deleteSubnet")
	e.Delete(object)
	_, err := e.run(e.file(oneSubnet), "plan", "-f", "-")
	e.Expect(err).To(MatchError(ContainSubstring("exactly one of name and id must be set")), "the file has the site's ID")
	out, err := e.run(e.but("{id: "+sim.DefaultSiteID+"}", "{name: site-1}"), "plan", "-f", "-", "-o", "json")
	e.Expect(err).NotTo(HaveOccurred())
	p := decodePlan(e, out)
	e.Expect(p.Clusters[0].Notes).To(ConsistOf("it is being deleted"))
	e.Expect(p.Summary).To(Equal(map[graph.Action]int{graph.ActionDelete: 2, graph.ActionRelease: 2}))
	e.Expect(e.management.written()).To(BeEmpty())
	e.Expect(e.datacenter.written()).To(BeEmpty())
}

func decodePlan(e *ends, text string) plan.Plan {
	e.t.Helper()
	var p plan.Plan
	e.Expect(json.Unmarshal([]byte(text), &p)).To(Succeed())
	return p
}

// workers is a MachineDeployment of two, and the number of templates for it.
func workers(subnet, instanceType string, templates int) string {
	text := `
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: workers}
spec:
  clusterName: demo
  replicas: 2
  template:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: NvidiaBMMMachineTemplate, name: workers}`
	template := `
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: NvidiaBMMMachineTemplate
metadata: {name: workers}
spec:
  template:
    spec:
      instanceType: {id: ` + instanceType + `}
      operatingSystem: {id: ` + sim.DefaultOperatingSystemID + `}
      network: {subnetName: ` + subnet + `}`
	return text + strings.Repeat(template, templates)
}

// A terminal sends nothing until the user types.
func TestPlan_endsWhileItWaitsForItsInput(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	silent, writer := io.Pipe()
	t.Cleanup(func() { _ = writer.Close() })
	root := rootCommand(systems)
	root.SetArgs([]string{"plan", "-f", "-"})
	root.SetIn(silent)
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(errors.New("interrupt signal received"))
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(MatchError("interrupt signal received")))
}

// A rolling update creates new machines before the old ones are deleted; fewer replicas delete some.
func TestPlan_countsTheMachinesThatComeAndGo(t *testing.T) {
	t.Parallel()
	e := start(t)
	e.CreateCluster("demo")
	for name, template := range map[string]string{"w1": "workers", "w2": "workers", "w3": "workers", "w4": "before"} {
		e.Create(&infrav1.NvidiaBMMMachine{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: e.Namespace,
				Labels:      map[string]string{clusterv1.ClusterNameLabel: "demo", clusterv1.MachineDeploymentNameLabel: "workers"},
				Annotations: map[string]string{clusterv1.TemplateClonedFromNameAnnotation: template},
			},
			Spec: infrav1.NvidiaBMMMachineSpec{InstanceSpec: infrav1.InstanceSpec{
				InstanceType:    infrav1.InstanceTypeReference{ID: sim.DefaultInstanceTypeID},
				OperatingSystem: infrav1.OperatingSystemReference{ID: sim.DefaultOperatingSystemID},
			}},
		})
	}
	file := e.file(oneSubnet + workers("nodes", sim.DefaultInstanceTypeID, 1))
	out, err := e.run(strings.Replace(file, "{id: "+sim.DefaultSiteID+"}", "{name: site-1}", 1), "plan", "-f", "-", "-o", "json")
	e.Expect(err).NotTo(HaveOccurred())
	e.Expect(decodePlan(e, out).Clusters[0].Instances).To(ConsistOf(
		plan.Instances{Kind: "MachineDeployment", Name: "workers", Action: graph.ActionDelete, Count: 1,
			Why: "made from another template than workers: Cluster API replaces them"},
		plan.Instances{Kind: "MachineDeployment", Name: "workers", Action: graph.ActionDelete, Count: 1,
			Why: "Cluster API chooses which"},
	))
}
