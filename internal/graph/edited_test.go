package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

func TestLedger_thatWasEditedToBindNothing(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry("lonely").ID = "" })
	calls := len(f.service.calls)
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v, after %d calls", r, len(f.service.calls)-calls)
		}
	}()
	_ = f.round(f.owner(), graph.Create())
}
