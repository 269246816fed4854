package graph_test

import (
	"testing"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// A backup has the object with its status, and the ledger from before anything was in it.
func TestLedger_thatIsRebuiltInPlaceOfAnOlderOneOfItsOwn(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	f.update(ledger, func(l *ledgerv1.Ledger) {
		l.Spec.Entries, l.Spec.OwnerUID, l.OwnerReferences = nil, "earlier", nil
	})
	f.refused(f.shown(), "is lost")
	f.takesOver(f.shown())
}
