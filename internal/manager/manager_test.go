package manager

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubectl apply writes the whole Secret, token included, into an annotation.
func TestSlim_keepsNoCopyOfASecretInTheCache(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	meta := metav1.ObjectMeta{
		Name: "x", Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: `{"token":"…"}`},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}
	secret := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: *meta.DeepCopy()}
	pod := &corev1.Pod{ObjectMeta: *meta.DeepCopy()}
	for _, object := range []client.Object{secret, pod} {
		slimmed, err := slim(object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(slimmed.(client.Object).GetManagedFields()).To(BeEmpty())
	}
	g.Expect(secret.Annotations).To(BeEmpty())
	g.Expect(pod.Annotations).NotTo(BeEmpty(), "others' annotations are read")
}
