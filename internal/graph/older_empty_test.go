package graph_test

import (
	"testing"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// A ledger has nothing in it when an intention was taken back, such as that of an owner that is paused for a backup. Put back, it
// lacks all that the status shows.
func TestLedger_thatIsEmptyAndOlderThanWhatWasMadeLetsItsOwnerGo(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	f.update(ledger, func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	f.deleteAll(func() graph.Owner { return f.shown() })
}
