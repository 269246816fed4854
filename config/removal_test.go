package config_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// What docs/installation.md says, in an API server of its own: definitions go for good here.
func TestRemoval_asTheGuideSaysLeavesNoMachineBehind(t *testing.T) {
	t.Parallel()
	s := startSite(t)
	machine := s.machine()
	s.apply()

	out, err := s.remove()
	s.Expect(err).To(HaveOccurred(), out)
	s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	s.Expect(machine.DeletionTimestamp).To(BeNil(), "nothing is deleted while there is a machine")
	s.Expect(s.manager()).To(Succeed())

	s.Expect(s.client.Delete(t.Context(), machine)).To(Succeed())
	s.release(machine)
	out, err = s.remove()
	s.Expect(err).NotTo(HaveOccurred(), out)
	s.Expect(s.definition()).To(Satisfy(apierrors.IsNotFound))
	s.Expect(s.manager()).To(Satisfy(apierrors.IsNotFound))
}

func TestRemoval_thatBeganWithTheManifestsIsFinishedByApplyingThemAgain(t *testing.T) {
	t.Parallel()
	s := startSite(t)
	machine := s.machine()
	s.apply()
	s.kubectl("delete", "-k", "bmm/default", "--wait=false")
	s.Eventually(func(g Gomega) {
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(machine.DeletionTimestamp).NotTo(BeNil())
	}).Should(Succeed(), "it goes with its definition, without a manager")
	s.Expect(s.manager()).To(Satisfy(apierrors.IsNotFound))

	s.Eventually(func() error { return s.client.Get(t.Context(), client.ObjectKey{Name: system}, &corev1.Namespace{}) }).
		Should(Satisfy(apierrors.IsNotFound))
	s.apply()
	s.Expect(s.manager()).To(Succeed())
	s.release(machine)
	s.Eventually(s.definition).Should(Satisfy(apierrors.IsNotFound))
}

const system = "bedplate-bmm-system"

// site is a management cluster of its own, without nodes.
type site struct {
	*WithT
	t          *testing.T
	client     client.Client
	kubeconfig string
}

func startSite(t *testing.T) *site {
	t.Helper()
	s := &site{WithT: NewWithT(t), t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	s.SetDefaultEventuallyTimeout(time.Minute)
	server := testenv.Another(t, "testdata/cert-manager.yaml")
	s.Expect(os.WriteFile(s.kubeconfig, server.Kubeconfig, 0o600)).To(Succeed())
	scheme, err := testenv.SchemeWith(apiextensionsv1.AddToScheme)
	s.Expect(err).NotTo(HaveOccurred())
	s.client, err = client.New(server.Config, client.Options{Scheme: scheme})
	s.Expect(err).NotTo(HaveOccurred())
	s.finalizeNamespaces()
	return s
}

// finalizeNamespaces that are to go, as kube-controller-manager does.
func (s *site) finalizeNamespaces() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			namespace := &corev1.Namespace{}
			if err := s.client.Get(ctx, client.ObjectKey{Name: system}, namespace); err == nil && namespace.DeletionTimestamp != nil {
				namespace.Spec.Finalizers = nil
				_ = s.client.SubResource("finalize").Update(ctx, namespace)
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	s.t.Cleanup(func() { cancel(); <-ended })
}

func (s *site) kubectl(args ...string) {
	s.t.Helper()
	out, err := testenv.RunKubectl(s.t, s.kubeconfig, args...)
	s.Expect(err).NotTo(HaveOccurred(), out)
}

func (s *site) apply() {
	s.t.Helper()
	s.kubectl("apply", "-k", "bmm/default")
}

// machine is one that has an instance: the manager, which isn't running, would remove its finalizer.
func (s *site) machine() *infrav1.NvidiaBMMMachine {
	s.t.Helper()
	s.kubectl("apply", "-k", "bmm/crd") // before the webhooks, which nothing serves here
	s.kubectl("wait", "crd", "--all", "--for=condition=Established")
	const id = "17fe0000-0000-4000-8000-000000000001"
	machine := &infrav1.NvidiaBMMMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-1", Finalizers: []string{"bedplate.dev/instance"}},
		Spec: infrav1.NvidiaBMMMachineSpec{InstanceSpec: infrav1.InstanceSpec{
			InstanceType:    infrav1.InstanceTypeReference{ID: id},
			OperatingSystem: infrav1.OperatingSystemReference{ID: id},
			Network:         infrav1.NetworkSpec{NetworkInterface: infrav1.NetworkInterface{SubnetName: "nodes"}},
		}},
	}
	// What is established isn't served at once, nor known to discovery.
	s.Eventually(func() error { return s.client.Create(s.t.Context(), machine) }).Should(Succeed())
	return machine
}

// release the machine, as a manager does whose instance is gone.
func (s *site) release(machine *infrav1.NvidiaBMMMachine) {
	s.t.Helper()
	s.Expect(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	before := machine.DeepCopy()
	machine.Finalizers = nil
	s.Expect(s.client.Patch(s.t.Context(), machine, client.MergeFrom(before))).To(Succeed())
}

// remove everything by the guide's command.
func (s *site) remove() (string, error) {
	s.t.Helper()
	page, err := os.ReadFile("../docs/installation.md")
	s.Expect(err).NotTo(HaveOccurred())
	_, section, found := strings.Cut(string(page), "\n## Remove bmm\n")
	s.Expect(found).To(BeTrue())
	section, _, _ = strings.Cut(section, "\n## ")
	var commands []string
	for line := range strings.Lines(section) {
		if strings.Contains(line, "kubectl delete -k .") {
			commands = append(commands, line)
		}
	}
	s.Expect(commands).To(HaveLen(1))
	command := exec.CommandContext(s.t.Context(), "sh", "-c", commands[0])
	command.Dir = "bmm/default"
	kubectl := toolstest.Find(s.t, "kubectl").Path("kubectl")
	command.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "PATH="+filepath.Dir(kubectl)+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	return string(out), err
}

func (s *site) manager() error {
	return s.client.Get(s.t.Context(), client.ObjectKey{Namespace: system, Name: "bedplate-bmm-manager"}, &appsv1.Deployment{})
}

func (s *site) definition() error {
	return s.client.Get(s.t.Context(), client.ObjectKey{Name: "nvidiabmmmachines.infrastructure.cluster.x-k8s.io"},
		&apiextensionsv1.CustomResourceDefinition{})
}
