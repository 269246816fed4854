package dpuservice_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	f.cluster("away", f.nowhere())
	f.cluster("a", dpu.Kubeconfig)
	const first, second = `{"auths":{}}`, `{"auths":{"x":{}}}`
	rotated, unlabelled, deleted := f.pullSecret("rotated", first), f.pullSecret("unlabelled", first), f.pullSecret("deleted", first)
	in := func(name string) func() string {
		return func() string {
			s := &corev1.Secret{} // without data, if there is none
			f.Expect(client.IgnoreNotFound(dpu.Client.Get(t.Context(), types.NamespacedName{Namespace: f.users, Name: name}, s))).To(Succeed())
			return string(s.Data[corev1.DockerConfigJsonKey])
		}
	}
	for _, s := range []*corev1.Secret{rotated, unlabelled, deleted} {
		f.Eventually(in(s.Name)).Should(Equal(first))
	}
	f.change(rotated, func() { rotated.Data[corev1.DockerConfigJsonKey] = []byte(second) })
	f.Eventually(in("rotated")).Should(Equal(second))
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
