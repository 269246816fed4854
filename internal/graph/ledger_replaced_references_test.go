package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// Another client that writes a reference of its own in place of ours removes ours as well.
func TestLedger_getsBackItsReferenceInPlaceOfAnothers(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, before := f.madeAll()
	f.update(f.ledger(), func(l *ledgerv1.Ledger) {
		l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "Application", Name: "demo", UID: "another"}}
	})
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.ledger().OwnerReferences).To(Equal(before.OwnerReferences))
}

// Everything that was removed is restored.
func TestLedger_getsBackItsFinalizer(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, before := f.madeAll()
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Finalizers = nil })
	_, err := f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.ledger().Finalizers).To(Equal(before.Finalizers))
}
