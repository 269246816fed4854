package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/journal"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Program(main); testenv.Main(m) }

// bound of how long a node has no operator.
const bound = 10 * time.Second

const node = "ocp-worker-1"

// midRoll is a cluster with one node that is being moved: the journal says so. Of OpenShift there is no more than the kind of its version,
// which holds up the other nodes, and not this one.
func midRoll(t *testing.T) client.Client {
	t.Helper()
	g, c := NewWithT(t), testenv.Client(t)
	testenv.AddCRDs(t, testenv.Config(t), testenv.ClusterVersion(t))
	moved := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{operatorv1.DPUEnabledLabel: "true"}}}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.Namespace}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-ovn-kubernetes"}}, moved,
	} {
		g.Expect(c.Create(t.Context(), object)).To(Succeed())
	}
	j, err := journal.Load(t.Context(), c, c, "openshift-ovn-kubernetes")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(j.PutNode(t.Context(), node, journal.Node{
		UID: moved.UID, Sequence: 1, Phase: operatorv1.NodeProvisioning, Since: metav1.Now(), Generation: 1,
	})).To(Succeed())
	config := &operatorv1.DPFOperatorConfig{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: operatorv1.Name}}
	config.Spec.BFBPersistentVolume = "volume-one"
	config.Spec.HostNetworkConfiguration = &operatorv1.HostNetworkConfiguration{
		HostPF0: "ens2f0np0", HostPF0VF0: "enp23s0f0v0", CIDR: "10.0.96.0/20", Hosts: []operatorv1.Host{{
			HostClusterNodeName: node, DPUClusterNodeName: "dpu-worker-1",
			HostIP: "10.0.96.10/24", DPUIP: "10.0.96.20/24", Gateway: "10.0.96.254",
		}},
	}
	g.Expect(c.Create(t.Context(), config)).To(Succeed())
	return c
}

// start a manager, as a process of its own.
func start(t *testing.T) *exec.Cmd {
	t.Helper()
	g := NewWithT(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	g.Expect(err).NotTo(HaveOccurred())
	command := exec.Command(os.Args[0], "--kubeconfig="+testenv.Kubeconfig(t), "--leader-election-namespace="+operatorv1.Namespace, "--leader-identity=one",
		"--webhook-port=0", "--metrics-addr=0", "--health-addr=0")
	command.Env, command.Stdout, command.Stderr = append(os.Environ(), testenv.AsProgram), log, log
	g.Expect(command.Start()).To(Succeed())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("%s", text)
		}
	})
	return command
}

// A node in between has no network: a leader that is killed there, and gives up no lease, is restarted, and at work soon.
func TestManager_killedInMidRollIsAtWorkAgainSoon(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(time.Minute)
	c := midRoll(t)
	tainted := func() bool {
		now := &corev1.Node{}
		g.Expect(c.Get(t.Context(), client.ObjectKey{Name: node}, now)).To(Succeed())
		return slices.ContainsFunc(now.Spec.Taints, func(t corev1.Taint) bool { return t.Key == operatorv1.NetworkNotReadyTaint })
	}
	began := time.Now()
	first := start(t)
	g.Eventually(tainted).Should(BeTrue())
	starting := time.Since(began)
	g.Expect(first.Process.Signal(syscall.SIGKILL)).To(Succeed())
	killed := time.Now()
	g.Expect(first.Wait()).NotTo(Succeed())
	start(t)
	g.Expect(c.Patch(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}},
		client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"taints":null}}`)))).To(Succeed())
	g.Eventually(tainted).Should(BeTrue())
	g.Expect(time.Since(killed)).To(BeNumerically("<", min(max(bound, 4*starting), 3*bound)), "the first one took %s: more only where others have the CPUs", starting)
	t.Logf("at work %s after the kill", time.Since(killed).Round(10*time.Millisecond))
}
