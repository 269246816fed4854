package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// A plan of a deletion is what the deletion does.
func TestPlan_ofADeletionHasWhatAnOlderLedgerDoesNotKnow(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	f.update(ledger, func(l *ledgerv1.Ledger) { l.Spec.Entries = []ledgerv1.Entry{*l.Entry("net")} })
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	planned := map[string]graph.Action{}
	g, _ := f.graphOf(f.owner())
	for _, s := range g.Plan(t.Context()) {
		planned[s.Key] = s.Action
	}
	f.Expect(planned).To(Equal(map[string]graph.Action{
		"net": graph.ActionDelete, "left": graph.ActionDelete, "right": graph.ActionDelete, "lonely": graph.ActionDelete,
	}))
}
