package graph_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// moved makes owner and ledger as clusterctl does in another management cluster: with spec, labels and annotations, without the
// owner's status, and with another UID, to which it sets references.
func (f *fixture) moved() {
	f.t.Helper()
	before, ledger := f.owner(), f.ledger()
	f.stripped(before)
	f.stripped(ledger)
	f.recreate(before)
	ledger.OwnerReferences[0].UID, ledger.Spec.Home = f.owner().UID, "the source"
	f.recreate(ledger)
}

// stripped deletes an object by force.
func (f *fixture) stripped(object client.Object) {
	f.t.Helper()
	f.Expect(f.client.Delete(f.t.Context(), object)).To(Succeed())
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	f.Expect(client.IgnoreNotFound(f.client.Patch(f.t.Context(), object.DeepCopyObject().(client.Object), patch))).To(Succeed())
}

// recreate makes an object that was read before once more.
func (f *fixture) recreate(object client.Object) {
	f.t.Helper()
	object = object.DeepCopyObject().(client.Object)
	object.SetResourceVersion("")
	object.SetUID("")
	f.Expect(f.client.Create(f.t.Context(), object)).To(Succeed())
}

func TestMove_createsNothingAndDeletionStillFindsAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	before := f.owner()
	calls := len(f.service.calls)

	f.moved()
	f.Expect(f.owner().UID).NotTo(Equal(before.UID))
	owner, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.expectCondition(owner, "Ready", metav1.ConditionTrue, "Ready", "")
	f.Expect(f.ledger().Spec.Home).NotTo(Equal("the source"))
	for _, call := range f.service.calls[calls:] {
		f.Expect(call).To(HavePrefix("get"))
	}
	f.Eventually(func() bool {
		_, done := f.delete()
		f.service.finish()
		return done
	}).WithTimeout(time.Minute).Should(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty())
}
