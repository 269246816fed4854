package actuator_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/simulator"
	"github.com/bedplate/bedplate/internal/testenv"
)

// namespace that the manifests are for.
const namespace = "openshift-machine-api"

// process is the controller as it is in production, with no more rights.
func (f *fixture) process(kubeconfig string, flags ...string) *exec.Cmd {
	f.t.Helper()
	program := toolstest.Find(f.t, "bmm-machine-controller").Path("bmm-machine-controller")
	log, err := os.Create(filepath.Join(f.t.TempDir(), "log"))
	f.Expect(err).NotTo(HaveOccurred())
	process := exec.Command(program, append([]string{"--kubeconfig=" + kubeconfig, "--namespace=" + namespace, "--leader-election-namespace=" + namespace,
		"--insecure-loopback-endpoints", "--webhook-port=0", "--metrics-addr=0", "--health-addr=0", "--poll-interval=" + bmmtest.Poll.String(), "--settle=" + bmmtest.Settle.String(),
		"--create-timeout=" + (bmmtest.Settle / 2).String()}, flags...)...)
	process.Stdout, process.Stderr = log, log
	f.Expect(process.Start()).To(Succeed())
	f.t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
		text, _ := os.ReadFile(log.Name())
		if f.t.Failed() {
			f.t.Logf("%s", text)
		}
		f.Expect(string(text)).NotTo(ContainSubstring("forbidden"))
	})
	return process
}

// serviceAccount installs the roles, and returns the kubeconfig of their service account.
func (f *fixture) serviceAccount() (kubeconfig string) {
	f.t.Helper()
	program := toolstest.Find(f.t, "kubectl").Path("kubectl")
	out, err := exec.Command(program, "apply", "-k", "../../../config/bmm-machine-controller/rbac",
		"--kubeconfig", testenv.Kubeconfig(f.t)).CombinedOutput()
	f.Expect(err).NotTo(HaveOccurred(), "%s", out)
	return testenv.KubeconfigOf(f.t, "system:serviceaccount:"+namespace+":bedplate-bmm-machine-controller",
		"system:serviceaccounts", "system:serviceaccounts:"+namespace)
}

// The service makes the instance after the controller that asked for it was killed, and the next one finds it. All that it
// has the right to do is needed on the way.
func TestProcess_killedWhileItCreates(t *testing.T) {
	t.Parallel()
	f := &fixture{Fixture: bmmtest.StartSite(t), t: t}
	f.Namespace = namespace
	f.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	f.prepare()
	kubeconfig := f.serviceAccount()
	f.Fault(simulator.Fault{Operation: "createInstance", Kind: simulator.FaultCommitLate})
	first := f.process(kubeconfig)
	m := f.createMachine("worker-1")
	f.Eventually(func() int { return f.Called("createInstance") }).Should(Equal(1))
	f.Expect(first.Process.Signal(syscall.SIGKILL)).To(Succeed())
	f.Expect(first.Wait()).NotTo(Succeed())

	second := f.process(kubeconfig)
	f.others()
	f.untilRunning(1)
	f.Expect(f.Called("createInstance")).To(Equal(1), "the killed one's is adopted")
	f.Expect(f.Read(m)).To(Succeed())
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "to-be-evicted"},
		Spec: corev1.PodSpec{
			NodeName: m.Status.NodeRef.Name, TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers: []corev1.Container{{Name: "c", Image: "none"}},
		},
	}
	f.Create(pod)
	f.Delete(m)
	f.UntilGone(m)
	f.Expect(f.instances()).To(BeEmpty())
	f.Expect(f.Read(pod)).NotTo(Succeed(), "it was evicted")
	f.Expect(second.Process.Signal(syscall.SIGTERM)).To(Succeed())
	f.Expect(second.Wait()).To(Succeed())
}

// A create that is interrupted is rolled back by the service and finished by the site, where no client sees it any more: so
// none is interrupted, whether the process shuts down or loses its lease, and its successor adopts the instance.
func TestProcess_cutsNoCreateOff(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		end     func(f *fixture, first *exec.Cmd)
		succeed bool
		creates time.Duration
		// ready: the successor is there before, and waits for the lease.
		ready bool
	}{
		"replaced by a rolling update": {succeed: true, ready: true, creates: 5 * time.Second, end: func(f *fixture, first *exec.Cmd) {
			f.Expect(first.Process.Signal(syscall.SIGTERM)).To(Succeed())
		}},
		"told to stop": {succeed: true, creates: 5 * time.Second, end: func(f *fixture, first *exec.Cmd) {
			f.Expect(first.Process.Signal(syscall.SIGTERM)).To(Succeed())
		}},
		"lost its lease": {creates: 20 * time.Second, end: func(f *fixture, _ *exec.Cmd) {
			bmmtest.Change(f.Fixture, f.lease(), func(l *coordinationv1.Lease) { // it is being renewed
				l.Spec.HolderIdentity, l.Spec.RenewTime = ptr.To("another"), ptr.To(metav1.NowMicro())
				l.Spec.LeaseDurationSeconds = ptr.To[int32](60)
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fixture{Fixture: bmmtest.StartSite(t, func(c *sim.Config) {
				c.Abandoned = sim.AbandonedAtSite
				c.Times.Create.Duration = time.Duration(float64(row.creates) * c.Speed)
			}), t: t}
			f.prepare()
			flags := []string{"--namespace=" + f.Namespace, "--leader-election-namespace=" + f.Namespace, "--settle=1m", "--create-timeout=30s",
				"--leader-elect-lease-duration=20s"}
			first := f.process(testenv.Kubeconfig(t), flags...)
			m := f.createMachine("worker-1")
			f.Eventually(func() int { return f.Called("createInstance") }).Should(Equal(1))
			holder := f.lease().Spec.HolderIdentity
			f.Expect(f.lease().Spec.LeaseDurationSeconds).To(HaveValue(BeEquivalentTo(20)))
			if row.ready {
				f.process(testenv.Kubeconfig(t), flags...)
			}
			row.end(f, first)
			ended := make(chan error, 1)
			go func() { ended <- first.Wait() }()
			if row.succeed {
				for { // in this order: the lease is given up as soon as there is an instance
					now := f.lease().Spec.HolderIdentity
					if len(f.instances()) > 0 {
						break
					}
					f.Expect(now).To(Equal(holder), "the lease is kept as long as it is at work")
				}
				f.Eventually(ended).Should(Receive(BeNil()))
				f.Eventually(func() *string { return f.lease().Spec.HolderIdentity }).ShouldNot(Equal(holder))
			} else {
				f.Eventually(ended).Should(Receive(HaveOccurred()))
				f.Expect(f.Client.Delete(t.Context(), f.lease())).To(Succeed())
			}
			f.Expect(f.Sim.State().Strays).To(BeEmpty())
			f.Expect(f.instances()).To(HaveLen(1))

			if !row.ready {
				f.process(testenv.Kubeconfig(t), flags...)
			}
			f.Eventually(func() string { _ = f.Read(m); return ptr.Deref(m.Spec.ProviderID, "") }).ShouldNot(BeEmpty())
			f.Delete(m)
			f.UntilGone(m)
			f.Expect(f.Called("createInstance")).To(Equal(1))
			f.Expect(f.Sim.State().Strays).To(BeEmpty())
			f.Expect(f.instances()).To(BeEmpty())
		})
	}
}

func (f *fixture) lease() *coordinationv1.Lease {
	f.t.Helper()
	lease := &coordinationv1.Lease{}
	f.Eventually(func() error {
		return f.Client.Get(f.t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: "bedplate-bmm-machine-controller"}, lease)
	}).Should(Succeed())
	return lease
}
