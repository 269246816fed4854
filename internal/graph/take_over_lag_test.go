package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// The cache doesn't have the restored ledger yet, and the status, which shows nothing, wasn't restored. What was asked for hasn't been done.
func TestLedger_isTakenOverAlsoWhenTheCacheIsBehind(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	f.update(ledger, func(l *ledgerv1.Ledger) {
		l.Spec.Home, l.Spec.OwnerUID, l.OwnerReferences[0].UID = "another", "another", "another"
	})
	owner := f.owner()
	owner.Annotations = map[string]string{ledgerv1.TakeOverAnnotation: "true"}
	f.lag = &ledgerv1.Ledger{}
	_, err := f.reconcileObject(owner)
	f.Expect(err).NotTo(HaveOccurred())
	f.lag = nil
	_, err = f.reconcileObject(owner) // as the caller has written it
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.ledger().Spec.OwnerID).To(Equal(ledger.Spec.OwnerID))
	f.Expect(f.service.keys()).To(Equal(everything))
}
