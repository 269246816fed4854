package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest/cloudtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
	"github.com/bedplate/bedplate/internal/localstack/manifest"
	"github.com/bedplate/bedplate/internal/testenv"
	"github.com/bedplate/bedplate/internal/version"

	manifests "github.com/bedplate/bedplate/config/bmm-cloud-controller-manager"
)

const prefix = "node"

func TestMain(m *testing.M) { testenv.Program(main); testenv.Main(m) }

// The program as it runs in production: its own flags, leader election, and no rights but those of its service account.
func TestManager_looksAfterNodesWithTheRightsOfItsServiceAccount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(time.Minute)
	kubernetes := testenv.Client(t)
	grant(t, kubernetes)
	site, endpoint := simtest.Start(t, cloudtest.World(prefix, 3), nil)
	folder := filepath.Join(t.TempDir(), "credentials")
	cloudtest.Mount(t, folder, cloudtest.Credentials(endpoint, sim.DefaultToken))
	log := start(t, "site: {name: site-1}\ncredentials: "+folder+"\ninterval: 1s\n")

	g.Eventually(log.String).Should(ContainSubstring("Successfully acquired lease"))
	for n := range 3 {
		g.Expect(kubernetes.Create(t.Context(), cloudtest.Node(cloudtest.NodeName(prefix, n)))).To(Succeed())
	}
	node := func(n int) *corev1.Node {
		node := &corev1.Node{}
		g.Expect(kubernetes.Get(t.Context(), client.ObjectKey{Name: cloudtest.NodeName(prefix, n)}, node)).To(Succeed())
		return node
	}
	for n := range 3 {
		g.Eventually(func(g Gomega) {
			node := node(n)
			g.Expect(node.Spec.ProviderID).To(Equal(cloudtest.ProviderID(n)))
			g.Expect(node.Spec.Taints).NotTo(ContainElement(HaveField("Key", cloudproviderapi.TaintExternalCloudProvider)))
			g.Expect(node.Labels).To(And(
				HaveKeyWithValue(corev1.LabelTopologyZone, "site-1"), HaveKeyWithValue(corev1.LabelTopologyRegion, "zurich"),
				HaveKeyWithValue(corev1.LabelInstanceTypeStable, "cpu.large")))
			g.Expect(node.Status.Addresses).To(ContainElement(
				corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: cloudtest.Address(n)}))
		}).Should(Succeed())
	}

	g.Expect(site.Vanish(cloudtest.InstanceID(1))).To(Succeed())
	report := func(n int, ready corev1.ConditionStatus) { // as its kubelet, while the controllers write it too
		g.Eventually(func() error {
			node := node(n)
			node.Status.Conditions[0].Status = ready
			return kubernetes.Status().Update(t.Context(), node)
		}).Should(Succeed())
	}
	for n := range 3 {
		report(n, corev1.ConditionUnknown)
	}
	g.Eventually(func() []string { return nodeNames(g, t, kubernetes) }).Should(
		ConsistOf(cloudtest.NodeName(prefix, 0), cloudtest.NodeName(prefix, 2)))
	g.Expect(site.SetStatus(sim.Status{ID: cloudtest.InstanceID(2), Status: "Terminated"})).To(Succeed())
	g.Eventually(func() []corev1.Taint { return node(2).Spec.Taints }).Should(
		ContainElement(HaveField("Key", cloudproviderapi.TaintNodeShutdown)))
	report(2, corev1.ConditionTrue)
	g.Eventually(func() []corev1.Taint { return node(2).Spec.Taints }).ShouldNot(
		ContainElement(HaveField("Key", cloudproviderapi.TaintNodeShutdown)))
	events := func(reason string) (about []string) {
		list := &corev1.EventList{}
		g.Expect(kubernetes.List(t.Context(), list)).To(Succeed())
		for _, e := range list.Items {
			if e.Reason == reason {
				about = append(about, e.InvolvedObject.Name)
			}
		}
		return about
	}
	g.Eventually(func() []string { return events("DeletingNode") }).Should(ConsistOf(cloudtest.NodeName(prefix, 1)))
	g.Eventually(func() []string { return events("InstanceTerminated") }).Should(ConsistOf(cloudtest.NodeName(prefix, 2)))
	// The same trouble again is the same event, counted.
	times := func() (count int32) {
		list := &corev1.EventList{}
		g.Expect(kubernetes.List(t.Context(), list)).To(Succeed())
		for _, e := range list.Items {
			if e.Reason == "InstanceRepairing" {
				count += e.Count
			}
		}
		return count
	}
	for again := range int32(2) {
		g.Expect(site.SetStatus(sim.Status{ID: cloudtest.InstanceID(0), Status: "Repairing"})).To(Succeed())
		g.Eventually(times).Should(Equal(again + 1))
		g.Expect(site.SetStatus(sim.Status{ID: cloudtest.InstanceID(0), Status: "Ready"})).To(Succeed())
		lists := site.Calls()["listInstances"]
		g.Eventually(func() int { return site.Calls()["listInstances"] }).Should(BeNumerically(">", lists+2))
	}
	g.Eventually(func() []string { return events("InstanceRepairing") }).Should(HaveLen(1))

	site.SetTokens([]string{"another-token"}) // all that is known now is that nothing is known
	silent := node(0)
	g.Eventually(func() []string { return events("CredentialsRefused") }).Should(ConsistOf("cloud-controller-manager"))
	g.Expect(nodeNames(g, t, kubernetes)).To(ConsistOf(cloudtest.NodeName(prefix, 0), cloudtest.NodeName(prefix, 2)))
	g.Expect(node(0).UID).To(Equal(silent.UID))
	g.Expect(strings.ToLower(log.String())).NotTo(ContainSubstring("forbidden"))
	g.Expect(log.String()).NotTo(ContainSubstring(sim.DefaultToken))
}

func TestManager_saysWhatIsWrongWithItsConfiguration(t *testing.T) {
	t.Parallel()
	for config, says := range map[string]string{
		"site: {name: a}\ncredentials: /x\nintervall: 30s\n": "intervall",
		"site: {}\ncredentials: /x\n":                        "site needs either an id or a name",
		"":                                                   "site needs either an id or a name",
	} {
		g := NewWithT(t)
		file := filepath.Join(t.TempDir(), "cloud.yaml")
		g.Expect(os.WriteFile(file, []byte(config), 0o600)).To(Succeed())
		out, err := program(t, "--cloud-config="+file).CombinedOutput()
		g.Expect(err).To(HaveOccurred())
		g.Expect(string(out)).To(ContainSubstring(says))
	}
	g := NewWithT(t)
	out, err := program(t).CombinedOutput()
	g.Expect(err).To(HaveOccurred())
	g.Expect(string(out)).To(ContainSubstring("name its file with --cloud-config"))
}

func TestManager_saysItsOwnVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	out, err := program(t, "--version").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", out)
	g.Expect(string(out)).To(Equal(name + " version " + version.Get() + "\n"))
}

func nodeNames(g *WithT, t *testing.T, kubernetes client.Client) (names []string) {
	list := &corev1.NodeList{}
	g.Expect(kubernetes.List(t.Context(), list)).To(Succeed())
	for _, node := range list.Items {
		names = append(names, node.Name)
	}
	return names
}

// grant makes the service account and gives it the rights that config/ says.
func grant(t *testing.T, kubernetes client.Client) {
	t.Helper()
	g := NewWithT(t)
	objects, err := manifest.DecodeAll(manifests.RBAC)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).NotTo(BeEmpty())
	for _, object := range objects {
		g.Expect(kubernetes.Create(t.Context(), object)).To(Succeed())
	}
}

// start the program as its service account, with the flags of its DaemonSet, until the test ends.
func start(t *testing.T, cloudConfig string) *log {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	access, err := clientcmd.LoadFromFile(testenv.Kubeconfig(t))
	g.Expect(err).NotTo(HaveOccurred())
	const account = "system:serviceaccount:kube-system:" + name
	for _, user := range access.AuthInfos {
		user.Impersonate = account
		user.ImpersonateGroups = []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"}
	}
	kubeconfig, config := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "cloud.yaml")
	g.Expect(clientcmd.WriteToFile(*access, kubeconfig)).To(Succeed())
	g.Expect(os.WriteFile(config, []byte(cloudConfig), 0o600)).To(Succeed())

	daemonSet, err := manifests.DaemonSet()
	g.Expect(err).NotTo(HaveOccurred())
	args := daemonSet.Spec.Template.Spec.Containers[0].Args
	for i := range args {
		args[i] = strings.Replace(args[i], "/etc/bmm/cloud-config/cloud.yaml", config, 1)
	}
	log := &log{}
	command := program(t, append(args, "--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", testenv.FreeAddress(t, net.IPv4(127, 0, 0, 1)).Port),
		"--node-monitor-period=200ms", "--insecure-loopback-endpoints")...)
	command.Stdout, command.Stderr = log, log
	g.Expect(command.Start()).To(Succeed())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return log
}

func program(t *testing.T, args ...string) *exec.Cmd {
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Cancel = func() error { return nil } // the cleanup ends it
	command.Env = append(os.Environ(), testenv.AsProgram)
	return command
}

// log of a program that keeps writing.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
