package lab

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/sim/platform"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// The main job: DPF is installed, the networks of the workers with DPUs are on these, and all of that is taken back.
func TestLab_bringsUpDPFAndTakesItBack(t *testing.T) {
	t.Parallel()
	g := eventual(t)
	d := startDPFLab(t, g)
	g.Expect(d.phases()).To(Equal([]string{"ocp-worker-1 Ready", "ocp-worker-2 Ready", "ocp-worker-3 Ready"}))
	g.Expect(d.moved()).To(ConsistOf("ocp-worker-1", "ocp-worker-2", "ocp-worker-3"))
	d.expectTheSeedsOrder()
	g.Expect(d.changed()).To(And(
		ContainElements("ClusterVersion version", "Deployment openshift-network-operator/network-operator", "Node ocp-worker-1",
			"DaemonSet openshift-ovn-kubernetes/ovnkube-node-dpf", "DPU cluster 1: Secret dpf-operator-system/ngc"),
		ContainElement(HavePrefix("DPU cluster 1: DaemonSet ")),
		Not(ContainElement(HavePrefix("Node ocp-worker-4"))), Not(ContainElement(HavePrefix("Node ocp-worker-5")))))
	d.hasChains()

	g.Expect(d.management.Delete(t.Context(), d.config())).To(Succeed())
	untilGone(g, d.management, d.config())
	g.Eventually(d.changed).Should(BeEmpty(), "in both clusters")
	d.down()
}

// commandsOf a page, from a heading on.
func commandsOf(g Gomega, page, heading string) (commands []string) {
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	g.Expect(err).NotTo(HaveOccurred())
	_, section, found := strings.Cut(string(text), heading)
	g.Expect(found).To(BeTrue())
	for i, part := range strings.Split(section, "```\n") {
		if i%2 == 1 {
			commands = append(commands, part)
		}
	}
	return commands
}

// The guide's quick start and the example's README, followed literally.
func TestLab_showsADPFNodeThatFails(t *testing.T) {
	t.Parallel()
	g := eventual(t)
	d := startDPFLab(t, g)
	commands := commandsOf(g, "examples/dpf/README.md", "# DPF in a lab\n")
	g.Expect(commands).To(HaveLen(5))
	variables := strings.ReplaceAll(commands[0], "~/.local/state/bedplate/lab", d.dir)
	folder := t.TempDir()
	run := func(text string) string {
		t.Helper()
		command := exec.CommandContext(bounded(t), "bash", "-ec", variables+text)
		command.Dir = folder
		command.Env = append(os.Environ(), "PATH="+string(toolstest.Find(t, "kubectl"))+":"+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s\n%s", text, out)
		return string(out)
	}
	up, quick, _ := strings.Cut(commandsOf(g, "docs/dpf.md", "\n## Quick start\n")[0], "\n")
	g.Expect(up).To(Equal("bedplate lab up --example dpf"), "it is up")
	g.Expect(run(strings.ReplaceAll(quick, "~/.local/state/bedplate/lab", d.dir))).To(And(
		ContainSubstring("DPFOperatorConfig/dpfoperatorconfig"), ContainSubstring("Node/ocp-worker-3")))
	run(commands[1])
	g.Eventually(d.changed).Should(BeEmpty(), "the record of copied pull secrets is deleted just after its owner")
	run(commands[2])
	g.Eventually(func() string { return run(commands[3]) }).Should(And(
		ContainSubstring("ocp-worker-1 Ready"), ContainSubstring("ocp-worker-2 Failed"), ContainSubstring("ocp-worker-3 Pending")))
	g.Expect(d.moved()).To(ConsistOf("ocp-worker-1"))
	g.Expect(d.changed()).NotTo(ContainElement("Node ocp-worker-2"), "it is as before")
	run(commands[4])
	g.Eventually(d.phases).Should(Equal([]string{"ocp-worker-1 Ready", "ocp-worker-2 Ready", "ocp-worker-3 Ready"}))
	d.down()
}

// hasChains expects that a chain and an interface reach the DPU cluster, and leave it with their objects.
func (d dpfLab) hasChains() {
	d.t.Helper()
	dpus := clientOfFile(d.t, d.g, filepath.Join(d.dir, "dpus.kubeconfig"))
	name := metav1.ObjectMeta{Namespace: "default", Name: "uplink"}
	allowed := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"dpf.nvidia.com/dpuservices":"allowed"}}}`))
	d.g.Expect(d.management.Patch(d.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, allowed)).To(Succeed())
	uplink := &svcv1.DPUServiceInterface{ObjectMeta: name}
	uplink.Spec.Template.Spec.Template.Spec = svcv1.ServiceInterfaceSpec{
		InterfaceType: "physical", Physical: &svcv1.Physical{InterfaceName: "p0"}}
	chain := &svcv1.DPUServiceChain{ObjectMeta: name}
	chain.Spec.Template.Spec.Template.Spec.Switches = []svcv1.Switch{{Ports: []svcv1.Port{{
		ServiceInterface: svcv1.ServiceIfc{MatchLabels: map[string]string{"interface": "uplink"}}}}}}
	for _, o := range []struct{ made, there client.Object }{
		{uplink, &svcv1.ServiceInterfaceSet{ObjectMeta: name}}, {chain, &svcv1.ServiceChainSet{ObjectMeta: name}},
	} {
		d.g.Eventually(func() error { return d.management.Create(d.t.Context(), o.made) }).Should(Succeed(),
			"the API server's policy may not know the namespace's label yet")
		d.g.Eventually(func() error { return dpus.Get(d.t.Context(), client.ObjectKeyFromObject(o.there), o.there) }).Should(Succeed())
		d.g.Expect(d.management.Delete(d.t.Context(), o.made)).To(Succeed())
		untilGone(d.g, d.management, o.made)
		untilGone(d.g, dpus, o.there)
	}
}

// dpfLab is a lab with DPF.
type dpfLab struct {
	command
	management client.Client
}

func startDPFLab(t *testing.T, g *WithT) dpfLab {
	t.Helper()
	d := dpfLab{command: startLab(t, g, "dpf")}
	d.management = clientOfFile(t, g, d.Kubeconfig)
	g.Expect(meta.IsStatusConditionTrue(d.config().Status.Conditions, operatorv1.ReadyCondition)).To(BeTrue())
	return d
}

func (d dpfLab) config() *operatorv1.DPFOperatorConfig {
	config := &operatorv1.DPFOperatorConfig{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: operatorv1.Name}}
	d.g.Expect(client.IgnoreNotFound(d.management.Get(context.Background(), client.ObjectKeyFromObject(config), config))).To(Succeed())
	return config
}

func (d dpfLab) phases() (all []string) {
	for _, n := range d.config().Status.Nodes {
		all = append(all, n.Name+" "+string(n.Phase))
	}
	return all
}

// moved are the nodes whose network isn't where it was.
func (d dpfLab) moved() (names []string) {
	nodes := &corev1.NodeList{}
	d.g.Expect(d.management.List(context.Background(), nodes, client.HasLabels{operatorv1.NetworkMovedLabel})).To(Succeed())
	for i := range nodes.Items {
		names = append(names, nodes.Items[i].Name)
	}
	return names
}

// changed are the objects that aren't as they were before.
func (d dpfLab) changed() []string {
	var state platform.State
	d.g.Expect(remoteAt(d.Simulator).Ask(context.Background(), http.MethodGet, "state", nil, &state)).To(Succeed())
	return state.Changed
}
