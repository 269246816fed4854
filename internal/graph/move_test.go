package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

// clusterctl move makes the object anew in another cluster: with spec, labels and annotations, without status, and with
// another UID.
func TestMove_createsNothingAndDeletionStillFindsAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	before := f.owner()
	calls := len(f.service.calls)

	moved := &bmmv1.NvidiaBMMMachine{
		ObjectMeta: metav1.ObjectMeta{
			Name: before.Name, Namespace: before.Namespace, Annotations: before.Annotations, Finalizers: before.Finalizers,
		},
		Spec: before.Spec,
	}
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	released := f.owner()
	released.Finalizers = nil
	f.Expect(f.client.Update(t.Context(), released)).To(Succeed())
	f.Expect(f.client.Create(t.Context(), moved)).To(Succeed())
	f.Expect(moved.UID).NotTo(Equal(before.UID))

	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "Ready", metav1.ConditionTrue, "Ready", "")
	for _, call := range f.service.calls[calls:] {
		f.Expect(call).To(HavePrefix("get"))
	}
	f.Eventually(func() bool {
		_, done := f.delete()
		f.service.finish()
		return done
	}).Should(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty())
}
