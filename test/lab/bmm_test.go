// Package lab tests whole systems the way a user runs them: through `bedplate lab`, with real etcd, kube-apiservers and
// Cluster API, and simulated sites.
package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/lab"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

const (
	patience = 6 * time.Minute
	interval = 250 * time.Millisecond
)

// The main job: from YAML to Ready nodes and back, with the commands of the README.
func TestLab_bringsUpABareMetalClusterAndLeavesNothing(t *testing.T) {
	g := eventual(t)
	bedplate := toolstest.Find(t, append(localstack.Tools(), "bedplate")...).Path("bedplate")
	dir := filepath.Join(t.TempDir(), "lab")
	run := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		command := exec.CommandContext(ctx, bedplate, args...)
		command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
		out, err := command.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "bedplate %s\n%s", strings.Join(args, " "), out)
		return string(out)
	}
	t.Cleanup(func() { run("lab", "down", "--dir", dir) })
	up := lastLab(g, run("lab", "up", "--dir", dir, "--example", "bmm", "-o", "json"))

	c := clientOf(t, up.Kubeconfig)
	nodes := &corev1.NodeList{}
	g.Expect(clientOf(t, up.Cluster.Kubeconfig).List(t.Context(), nodes)).To(Succeed())
	g.Expect(nodes.Items).To(HaveLen(3))
	g.Expect(providerIDs(nodes)).To(ConsistOf(idsOfMachines(g, c)))
	for _, id := range providerIDs(nodes) {
		_, err := providerid.Parse(id)
		g.Expect(err).NotTo(HaveOccurred())
	}
	tree := run("describe", "cluster", "demo", "--kubeconfig", up.Kubeconfig)
	g.Expect(tree).To(MatchRegexp(`Cluster/demo +True`))
	g.Expect(tree).To(MatchRegexp(`VPC [0-9a-f-]{36}\n`))
	g.Expect(tree).To(MatchRegexp(`instance [0-9a-f-]{36}\n`))
	g.Expect(tree).To(MatchRegexp(`IP block [0-9a-f-]{36} \(yours\)\n`))

	second, err := exec.Command(bedplate, "lab", "up", "--dir", dir).CombinedOutput()
	g.Expect(err).To(HaveOccurred(), "a second lab beside the first")
	g.Expect(string(second)).To(ContainSubstring("already running"))

	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: up.Cluster.Namespace, Name: up.Cluster.Name}}
	g.Expect(c.Delete(t.Context(), cluster)).To(Succeed())
	untilGone(g, c, cluster)
	g.Expect(simulator{up.Simulator}.state(g).Empty()).To(BeTrue())

	run("lab", "down", "--dir", dir)
	g.Expect(dir).NotTo(BeADirectory())
	g.Expect(processesThatMention(g, dir)).To(BeEmpty())
}

// kill -9 of the real manager, at its worst moments: while the service makes a VPC, an instance, and while it deletes.
// The service finishes what it was asked for although the client is gone.
func TestManager_killedAtAnyMomentLeaksAndDoublesNothing(t *testing.T) {
	g := eventual(t)
	s := startStack(t, g)
	kill := func(operation string) {
		t.Helper()
		before := s.sim.calls(g)[operation]
		g.Eventually(func() int { return s.sim.calls(g)[operation] }).Should(BeNumerically(">", before), operation)
		g.Expect(s.Kill(localstack.BMMManager)).To(Succeed())
		g.Expect(s.Restart(t.Context(), localstack.BMMManager)).To(Succeed())
	}
	for _, operation := range []string{"createVpc", "createInstance", "deleteInstance", "deleteVpc"} {
		s.sim.fault(g, sim.Fault{Operation: operation, Kind: sim.FaultCommitLate, Delay: metav1.Duration{Duration: time.Minute}})
	}
	s.apply(t, g, "demo", nil)
	kill("createVpc")
	kill("createInstance")
	cluster := s.untilAvailable(g, "demo")
	state := s.sim.state(g)
	g.Expect(state.VPCs).To(HaveLen(1))
	g.Expect(state.Subnets).To(HaveLen(1))
	g.Expect(state.Instances).To(HaveLen(2))

	g.Expect(s.Client().Delete(t.Context(), cluster)).To(Succeed())
	kill("deleteInstance")
	kill("deleteVpc")
	untilGone(g, s.Client(), cluster)
	g.Expect(s.sim.state(g).Empty()).To(BeTrue())
}

// The negative control of the main job: nodes whose provider ID isn't that of their machine's instance don't count.
func TestMachine_doesNotTakeANodeWithAnotherProviderID(t *testing.T) {
	g := eventual(t)
	s := startStack(t, g)
	s.apply(t, g, "demo", func(yaml []byte) []byte {
		const flag = "          - name: cloud-provider\n            value: external\n"
		return replaceOnce(g, yaml, flag, flag+`          - name: provider-id
            value: nvidia-bmm://00000000-0000-4000-8000-000000000000/{{ ds.meta_data.instance_id }}
`)
	})
	machines := &clusterv1.MachineList{}
	g.Eventually(func(g Gomega) {
		g.Expect(s.Client().List(t.Context(), machines)).To(Succeed())
		g.Expect(machines.Items).To(ContainElement(And(
			HaveField("Labels", HaveKey(clusterv1.MachineControlPlaneLabel)),
			HaveField("Status.Conditions", ContainElement(And(
				HaveField("Type", clusterv1.MachineNodeHealthyCondition),
				HaveField("Message", ContainSubstring("Waiting for a Node with spec.providerID"))))))))
		g.Expect(s.nodes(t, "demo").Items).To(HaveLen(1), "the node is there")
	}).Should(Succeed())
	for _, m := range machines.Items {
		g.Expect(m.Status.NodeRef.IsDefined()).To(BeFalse(), m.Name)
	}
}

// stack is a management cluster with the provider and its simulator.
type stack struct {
	*localstack.Stack
	bmm *localstack.BMM
	sim simulator
	dir string
}

func startStack(t *testing.T, g *WithT) stack {
	t.Helper()
	tools := toolstest.Find(t, append(localstack.Tools(), "bedplate")...)
	dir := t.TempDir()
	s, err := localstack.Start(t.Context(), localstack.Config{Dir: dir, Tools: tools})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(s.Stop)
	bmm, err := s.StartBMM(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	return stack{s, bmm, simulator{bmm.URL}, dir}
}

// apply the example with one worker. Change may alter its YAML.
func (s stack) apply(t *testing.T, g *WithT, name string, change func([]byte) []byte) {
	t.Helper()
	kubernetes, err := discovery.NewDiscoveryClientForConfigOrDie(s.AdminConfig()).ServerVersion()
	g.Expect(err).NotTo(HaveOccurred())
	variables := s.bmm.Variables()
	maps.Copy(variables, map[string]string{
		"CLUSTER_NAME": name, "NAMESPACE": "default", "KUBERNETES_VERSION": kubernetes.GitVersion,
		"CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "1",
	})
	yaml, err := examples.Render("bmm", variables)
	g.Expect(err).NotTo(HaveOccurred())
	if change != nil {
		yaml = change(yaml)
	}
	g.Expect(s.Apply(t.Context(), yaml)).To(Succeed())
}

func (s stack) untilAvailable(g *WithT, name string) *clusterv1.Cluster {
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	g.Eventually(func(g Gomega) {
		g.Expect(s.Client().Get(context.Background(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		g.Expect(cluster.Status.Conditions).To(ContainElement(And(
			HaveField("Type", clusterv1.ClusterAvailableCondition), HaveField("Status", metav1.ConditionTrue))))
	}).Should(Succeed())
	return cluster
}

func (s stack) nodes(t *testing.T, name string) *corev1.NodeList {
	secret := &corev1.Secret{}
	nodes := &corev1.NodeList{}
	if s.Client().Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name + "-kubeconfig"}, secret) != nil {
		return nodes
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		return nodes
	}
	if workload, err := client.New(config, client.Options{}); err == nil {
		_ = workload.List(t.Context(), nodes) // asked again until it answers
	}
	return nodes
}

// simulator is the outside world's own interface, which no provider uses.
type simulator struct{ url string }

func (s simulator) state(g *WithT) (state sim.State) {
	s.get(g, "/simulator/state", &state)
	return state
}

func (s simulator) calls(g *WithT) (calls map[string]int) {
	s.get(g, "/simulator/calls", &calls)
	return calls
}

func (s simulator) get(g *WithT, path string, out any) {
	response, err := http.Get(s.url + path)
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(body, out)).To(Succeed())
}

func (s simulator) fault(g *WithT, fault sim.Fault) { s.post(g, "/simulator/faults", fault) }

// vanish takes an instance away behind everybody's back.
func (s simulator) vanish(g *WithT, id string) {
	s.post(g, "/simulator/vanish", map[string]string{"id": id})
}

// tokens are the only ones that are valid from now on.
func (s simulator) tokens(g *WithT, tokens ...string) { s.post(g, "/simulator/tokens", tokens) }

func (s simulator) post(g *WithT, path string, in any) {
	body, err := json.Marshal(in)
	g.Expect(err).NotTo(HaveOccurred())
	response, err := http.Post(s.url+path, "application/json", bytes.NewReader(body))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Body.Close()).To(Succeed())
	g.Expect(response.StatusCode).To(Equal(http.StatusNoContent))
}

func eventual(t *testing.T) *WithT {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience)
	g.SetDefaultEventuallyPollingInterval(interval)
	return g
}

// lastLab is the lab in the last line of `lab up -o json`.
func lastLab(g *WithT, output string) *lab.Lab {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	var event lab.Event
	g.Expect(json.Unmarshal([]byte(lines[len(lines)-1]), &event)).To(Succeed())
	g.Expect(event.Lab).NotTo(BeNil())
	return event.Lab
}

func clientOf(t *testing.T, kubeconfig string) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: testenv.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func idsOfMachines(g *WithT, c client.Client) (ids []string) {
	for _, m := range machinesOf(g, c) {
		ids = append(ids, m.Spec.ProviderID)
	}
	return ids
}

func machinesOf(g Gomega, c client.Client) []infrav1.NvidiaBMMMachine {
	machines := &infrav1.NvidiaBMMMachineList{}
	g.Expect(c.List(context.Background(), machines)).To(Succeed())
	return machines.Items
}

func providerIDs(nodes *corev1.NodeList) (ids []string) {
	for _, node := range nodes.Items {
		ids = append(ids, node.Spec.ProviderID)
	}
	return ids
}

func untilGone(g *WithT, c client.Client, object client.Object) {
	g.Eventually(func() bool {
		return apierrors.IsNotFound(c.Get(context.Background(), client.ObjectKeyFromObject(object), object))
	}).Should(BeTrue(), "%s is gone", object.GetName())
}

// processesThatMention returns the command lines, by process ID, of running processes that contain a text.
func processesThatMention(g *WithT, text string) map[int]string {
	found := map[int]string{}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && bytes.Contains(line, []byte(text)) { // a process that has just ended has no line
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			g.Expect(err).NotTo(HaveOccurred())
			found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
		}
	}
	return found
}
