package actuator_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// namespace that the manifests are for.
const namespace = "openshift-machine-api"

// process is the controller as it is in production, with no more rights.
func (f *fixture) process(kubeconfig string) *exec.Cmd {
	f.t.Helper()
	program := toolstest.Find(f.t, "bmm-machine-controller").Path("bmm-machine-controller")
	log, err := os.Create(filepath.Join(f.t.TempDir(), "log"))
	f.Expect(err).NotTo(HaveOccurred())
	process := exec.Command(program, "--kubeconfig="+kubeconfig, "--namespace="+namespace, "--leader-election-namespace="+namespace,
		"--webhook-port=0", "--metrics-addr=0", "--health-addr=0", "--poll-interval="+bmmtest.Poll.String(), "--settle="+bmmtest.Settle.String(),
		"--create-timeout="+(bmmtest.Settle/2).String())
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

// serviceAccount installs the roles, and returns a kubeconfig of who has them.
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
	f.Fault(sim.Fault{Operation: "createInstance", Kind: sim.FaultCommitLate})
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
