package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/plan"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/testenv"
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

// file is a Secret, a Cluster and an NvidiaBMMCluster, named demo, whose spec goes on with the lines given.
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
// somebody has changed, and a range that the spec asks for no more.
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
	bmmtest.Change(e.Fixture, waiting, func(m *infrav1.NvidiaBMMMachine) { // no further attempt while somebody looks
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, clusterv1.PausedAnnotation, "")
	})
	e.UntilTrue(waiting, clusterv1.PausedCondition)
	bmmtest.Change(e.Fixture, object, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.Subnets = append(c.Spec.Subnets, infrav1.SubnetSpec{Name: "new", PrefixLength: ptr.To[int32](16)})
	})
	e.UntilReason(object, infrav1.SubnetsReadyCondition, "Quota", "")
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
	e.Expect(p.Summary).To(Equal(map[graph.Action]int{graph.ActionDelete: 2, graph.ActionForget: 2}))
	e.Expect(e.management.written()).To(BeEmpty())
	e.Expect(e.datacenter.written()).To(BeEmpty())
}

func decodePlan(e *ends, text string) plan.Plan {
	e.t.Helper()
	var p plan.Plan
	e.Expect(json.Unmarshal([]byte(text), &p)).To(Succeed())
	return p
}

func TestPlan_saysWhatCannotBeDoneAndFails(t *testing.T) {
	t.Parallel()
	e := start(t)
	for _, row := range []struct {
		name, file string
		says       []string
		fails      string
	}{
		{"an unknown site", e.but(sim.DefaultSiteID, "517e0000-0000-4000-8000-00000000dead"),
			[]string{"! site", "does not exist"}, "1 of the plan can't be done"},
		{"a token that is refused", e.but(sim.DefaultToken, "stale"),
			[]string{"! site", "401"}, "can't be done"},
		{"no Secret", e.but("kind: Secret\nmetadata: {name: demo}", "kind: Secret\nmetadata: {name: another}"),
			[]string{"! ReferencesResolved", "secret " + e.Namespace + "/demo does not exist: create it"}, "can't be done"},
		{"an unusable Secret", e.but("token: "+sim.DefaultToken, "user: me"),
			[]string{"! ReferencesResolved", "has no token"}, "can't be done"},
		{"a ledger of another object",
			e.annotated(`annotations: {bedplate.dev/ledger: '{"object":"other/demo","owner":"0123456789ab","entries":{}}'}`),
			[]string{"! ReferencesResolved", "copied"}, "can't be done"},
		{"a template that isn't there", e.file(oneSubnet + workers("nodes", sim.DefaultInstanceTypeID, 0)),
			[]string{"! 2 instances for MachineDeployment workers: there is no NvidiaBMMMachineTemplate workers"},
			"2 of the plan can't be done"},
		{"a network that isn't there", e.file(oneSubnet + workers("storage", sim.DefaultInstanceTypeID, 1)),
			[]string{`has no subnet "storage"`}, "2 of the plan can't be done"},
		{"an instance type that isn't there", e.file(oneSubnet + workers("nodes", "17fe0000-0000-4000-8000-00000000dead", 1)),
			[]string{"instance type 17fe0000-0000-4000-8000-00000000dead: get instance type: 404"}, "2 of the plan can't be done"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, strings.NewReader(row.file), "plan", "-f", "-", "--kubeconfig", e.kubeconfig, loopback)
			g := NewWithT(t)
			g.Expect(err).To(MatchError(ContainSubstring(row.fails)), out)
			for _, text := range row.says {
				g.Expect(out).To(ContainSubstring(text))
			}
			g.Expect(out + err.Error()).NotTo(ContainSubstring(sim.DefaultToken))
		})
	}
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

func TestPlan_repeatsWhatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	e := start(t)
	for _, row := range []struct {
		name, file string
		says       []string
	}{
		{"everything at once, defaults and rules of the CRD",
			e.file("\n  vpcPrefixes: [{name: a, prefixLength: 24}]" + workers("nodes", "no-uuid", 1)),
			[]string{
				"NvidiaBMMCluster " + e.Namespace + "/demo can't be applied", "write subnets instead",
				"NvidiaBMMMachineTemplate " + e.Namespace + "/workers can't be applied", "instanceType.id",
			}},
		{"what only the webhook knows", e.file("\n  subnets: [{name: a, cidr: 10.0.0.0/24}, {name: b, cidr: 10.0.0.0/25}]"),
			[]string{"can't be applied", "overlap"}},
		{"a field that doesn't exist", e.file(oneSubnet + "\n  subnet: mine"), []string{`unknown field "spec.subnet"`}},
		{"no namespace", e.annotated("namespace: nowhere"), []string{`namespace "nowhere" does not exist: create it first`}},
		{"a kind that isn't installed", e.but("x-k8s.io/v1beta1", "x-k8s.io/v1beta7"), []string{
			"doesn't know infrastructure.cluster.x-k8s.io/v1beta7 NvidiaBMMCluster: install the provider first"}},
		{"nothing to plan", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n",
			[]string{"there is no NvidiaBMMCluster in the file"}},
		{"no YAML", "a: [", []string{"document 1"}},
		{"an object twice", e.file(oneSubnet) + "---\n" + strings.Split(e.file(oneSubnet), "---\n")[2],
			[]string{"NvidiaBMMCluster " + e.Namespace + "/demo is in the file twice"}},
		{"a template", e.but("{name: demo}\nspec:\n  siteRef", "{name: '${CLUSTER_NAME}'}\nspec:\n  siteRef"),
			[]string{"with variables such as ${CLUSTER_NAME}", "run \"clusterctl generate yaml --from FILE\" first"}},
		{"a token that is still to come", e.but(sim.DefaultToken, "'${BMM_TOKEN}'"), []string{"variables such as ${BMM_TOKEN}: run"}},
		{"a template that is no YAML", e.but("{id: "+sim.DefaultSiteID+"}", "{id: ${BMM_SITE_ID:=x}}"),
			[]string{"variables such as ${BMM_SITE_ID:=x}: run"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, strings.NewReader(row.file), "plan", "-f", "-", "--kubeconfig", e.kubeconfig, loopback)
			g := NewWithT(t)
			g.Expect(err).To(HaveOccurred())
			for _, text := range row.says {
				g.Expect(err.Error()).To(ContainSubstring(text))
			}
			g.Expect(out).To(BeEmpty())
		})
	}
}

// What is gone from a file is gone from the object only if whoever applied it last time is believed.
func TestPlan_takesTheObjectAsKubectlApplyWouldLeaveIt(t *testing.T) {
	t.Parallel()
	for _, how := range [][]string{
		{"apply"}, {"apply", "--server-side"}, {"apply", "--server-side", "--field-manager=somebody"}, {"create"},
	} {
		t.Run(strings.Join(how, " "), func(t *testing.T) {
			t.Parallel()
			e := start(t)
			file := filepath.Join(t.TempDir(), "cluster.yaml")
			e.Expect(os.WriteFile(file, []byte(e.file("\n  subnets: [{name: nodes, prefixLength: 24}, {name: old, prefixLength: 24}]"+
				"\n  vpcPeerings: [{peerVpcId: "+sim.DefaultTenantID+"}]")), 0o600)).To(Succeed())
			testenv.Kubectl(t, append(how, "-f", file, "-n", e.Namespace)...)
			out, err := e.run(e.file(oneSubnet), "plan", "-f", "-")
			e.Expect(err).NotTo(HaveOccurred())
			e.Expect(out).To(ContainSubstring("+ subnet nodes"))
			e.Expect(out).NotTo(ContainSubstring("old"))
			if how[0] == "create" { // kubectl doesn't know either whose the peering is
				e.Expect(out).To(ContainSubstring("+ VPC peering"))
			} else {
				e.Expect(out).NotTo(ContainSubstring("peering"))
			}
		})
	}
}

// kubectl remembers a file without annotations as one with an empty map of them, which the ledger must survive.
func TestPlan_keepsTheLedgerOfWhatKubectlAppliedFromAFileWithoutAnnotations(t *testing.T) {
	t.Parallel()
	e := start(t)
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	e.Expect(os.WriteFile(file, []byte(e.file(oneSubnet)), 0o600)).To(Succeed())
	testenv.Kubectl(t, "apply", "-f", file, "-n", e.Namespace)
	owner := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: e.Namespace}}
	e.Expect(e.Read(owner)).To(Succeed())
	object := &infrav1.NvidiaBMMCluster{ObjectMeta: owner.ObjectMeta}
	bmmtest.Change(e.Fixture, object, func(c *infrav1.NvidiaBMMCluster) { // as Cluster API's core does
		c.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind("Cluster"))}
	})
	e.UntilReady(object)
	made := e.datacenter.written()

	out, err := e.run(e.file(oneSubnet), "plan", "-f", "-", "-o", "json")
	e.Expect(err).NotTo(HaveOccurred(), out)
	e.Expect(decodePlan(e, out).Clusters[0].Steps).To(And(
		ContainElement(HaveField("Key", "vpc")), ContainElement(HaveField("Key", "subnet/nodes")),
		HaveEach(HaveField("Action", BeElementOf(graph.ActionKeep, graph.ActionUse))),
	))
	e.Expect(e.management.written()).To(BeEmpty())
	e.Expect(e.datacenter.written()).To(Equal(made))
}

// What a script has in braces is the script's.
func TestPlan_leavesVariablesOfScriptsAlone(t *testing.T) {
	t.Parallel()
	e := start(t)
	script := "---\napiVersion: v1\nkind: Secret\nmetadata: {name: script}\nstringData: {value: 'echo ${HOME} ${BMM_TOKEN}'}\n"
	_, err := e.run(e.file(oneSubnet)+script, "plan", "-f", "-")
	e.Expect(err).NotTo(HaveOccurred())
}

// A terminal says nothing until somebody types.
func TestPlan_endsWhileItWaitsForItsInput(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	silent, writer := io.Pipe()
	t.Cleanup(func() { _ = writer.Close() })
	root := rootCommand()
	root.SetArgs([]string{"plan", "-f", "-"})
	root.SetIn(silent)
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(errors.New("interrupt signal received"))
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	g.Eventually(ended).WithTimeout(10 * time.Second).Should(Receive(MatchError("interrupt signal received")))
}

func TestPlan_saysWhatHoldsEverythingUp(t *testing.T) {
	t.Parallel()
	e := start(t)
	for file, says := range map[string]string{
		e.but("kind: NvidiaBMMCluster, name: demo", "kind: NvidiaBMMCluster, name: other"): "no Cluster names it",
		e.but("spec:\n  infrastructureRef", "spec:\n  paused: true\n  infrastructureRef"):  "it is paused",
		e.annotated("annotations: {cluster.x-k8s.io/managed-by: me}"):                      "Bedplate does nothing for it",
	} {
		out, err := e.run(file, "plan", "-f", "-")
		e.Expect(err).NotTo(HaveOccurred())
		e.Expect(out).To(ContainSubstring(says))
	}
}

// A rolling update makes new machines before the old ones go; fewer replicas take some away.
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
