package dpuservice_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/testenv"
)

func (f *fixture) pullSecret(name, data string) *corev1.Secret {
	f.t.Helper()
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.users, Name: name, Labels: map[string]string{dpuservice.PullSecretLabel: ""}},
		Type:       corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(data)},
	}
	f.Expect(f.Create(f.t.Context(), s)).To(Succeed())
	return s
}

// The peer copies a pull secret once: neither a rotated one nor its end reaches DPU clusters.
func TestPullSecrets_areThoseOfTheHostCluster(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dpu := testenv.Another(t)
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.argo, Name: "owner"}}
	f.Expect(f.Create(t.Context(), owner)).To(Succeed())
	f.Expect(dpuservice.BeginCopies(t.Context(), f.Client, f.Client, owner)).To(Succeed())
	f.cluster("away", f.nowhere())
	f.cluster("a", dpu.Kubeconfig)
	later := testenv.Another(t)
	f.cluster("b", later.Kubeconfig)
	f.service(f.users, "s", nil)
	const first, second = `{"auths":{}}`, `{"auths":{"x":{}}}`
	rotated, unlabelled, deleted := f.pullSecret("rotated", first), f.pullSecret("unlabelled", first), f.pullSecret("deleted", first)
	inside := func(c client.Client, name string) func() string {
		return func() string {
			s := &corev1.Secret{} // without data, if there is none
			f.Expect(client.IgnoreNotFound(c.Get(t.Context(), types.NamespacedName{Namespace: f.users, Name: name}, s))).To(Succeed())
			return string(s.Data[corev1.DockerConfigJsonKey])
		}
	}
	in := func(name string) func() string { return inside(dpu.Client, name) }
	for _, s := range []*corev1.Secret{rotated, unlabelled, deleted} {
		f.Eventually(in(s.Name)).Should(Equal(first))
		f.Eventually(inside(later.Client, s.Name)).Should(Equal(first))
	}
	may, err := dpuservice.MayHaveCopies(t.Context(), f.Client, f.argo)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(may(types.NamespacedName{Namespace: f.users, Name: "a"})).To(BeTrue())
	f.Expect(may(types.NamespacedName{Namespace: f.users, Name: "away"})).To(BeFalse())
	back := later.Suspend(t)
	f.change(rotated, func() { rotated.Data[corev1.DockerConfigJsonKey] = []byte(second) })
	f.Eventually(in("rotated")).Should(Equal(second))
	back()
	f.Eventually(inside(later.Client, "rotated")).Should(Equal(second), "when it answers again")
	f.change(unlabelled, func() { unlabelled.Labels = nil })
	f.Eventually(in("unlabelled")).Should(BeEmpty())

	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.users, Name: "theirs"}, StringData: map[string]string{"a": "b"}}
	f.Expect(dpu.Client.Create(t.Context(), theirs)).To(Succeed())
	f.pullSecret("theirs", first)
	f.Eventually(func() string { return f.notes("NotMirrored") }).Should(ContainSubstring("isn't a copy"))

	resume := dpu.Suspend(t)
	f.Expect(f.Delete(t.Context(), deleted)).To(Succeed())
	resume()
	f.Eventually(in("deleted")).Should(BeEmpty())
	f.Expect(dpu.Client.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
	f.Expect(theirs.Data).To(HaveKey("a"))
}

// A label on a Secret doesn't bring it to DPU clusters: only a service does, of its own namespace, and only pull secrets.
func TestPullSecrets_areOnlyThoseOfServices(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dpu := testenv.Another(t)
	f.cluster("a", dpu.Kubeconfig)
	there := func(namespace, name string) func() bool {
		return func() bool {
			err := dpu.Client.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, &corev1.Secret{})
			f.Expect(client.IgnoreNotFound(err)).To(Succeed())
			return err == nil
		}
	}
	secret := f.pullSecret("pull", "{}")
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.users, Name: "key", Labels: secret.Labels}}
	f.Expect(f.Create(t.Context(), other)).To(Succeed())
	system := secret.DeepCopy()
	system.ObjectMeta = metav1.ObjectMeta{Namespace: f.argo, Name: "pull", Labels: secret.Labels}
	f.service(f.users, "host", func(spec *svcv1.DPUServiceSpec) { spec.DeployInCluster = true })
	f.Expect(f.Create(t.Context(), system)).To(Succeed())
	f.Eventually(there(f.argo, "pull")).Should(BeTrue(), "the operator's")
	f.Consistently(there(f.users, "pull"), still).Should(BeFalse())
	s := f.service(f.users, "s", nil)
	f.Eventually(there(f.users, "pull")).Should(BeTrue())
	f.Consistently(there(f.users, "key"), still).Should(BeFalse())
	f.Expect(f.Delete(t.Context(), s)).To(Succeed())
	f.Eventually(there(f.users, "pull")).Should(BeFalse())
	f.Expect(there(f.argo, "pull")()).To(BeTrue())
}

func TestPullSecrets_areRemovedFromADPUCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, namespace := testenv.Client(t), testenv.Namespace(t) // no controller copies anything into the host cluster
	secret := func(name string, labels map[string]string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
		g.Expect(c.Create(t.Context(), s)).To(Succeed())
		return s
	}
	copied := secret("copy", map[string]string{"svc.dpu.nvidia.com/mirrored": "true", dpuservice.PullSecretLabel: ""})
	original := secret("original", map[string]string{dpuservice.PullSecretLabel: ""})
	g.Expect(dpuservice.RemovePullSecrets(t.Context(), c)).To(Succeed())
	g.Expect(client.IgnoreNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(copied), &corev1.Secret{}))).To(Succeed())
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(copied), &corev1.Secret{})).NotTo(Succeed())
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(original), &corev1.Secret{})).To(Succeed())
}
