package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// As TestLedger_thatIsOlderThanWhatHasNoTag, and the spec names by its ID what the status shows. Only the operator knows whose it is; it must
// neither be leaked silently nor become the user's own.
func TestUnproven_isNotTheUsersOwnBecauseTheSpecNamesIt(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create(), untagged)).To(Succeed())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) {
		f.Expect(l.Entry("lonely")).To(And(HaveField("ID", "id-1"), HaveField("Foreign", false)))
		l.Spec.Entries = nil
	})
	for range 3 {
		g, kind := f.graphOf(showing{f.owner(), []string{"id-1"}}, untagged)
		w := f.want("own")
		w.Claim, w.Update = graph.Use("id-1"), nil
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(2 * settle)
	}
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	for range 6 {
		g, _ := f.graphOf(showing{f.owner(), []string{"id-1"}}, untagged)
		done, _, _ := g.Delete(t.Context())
		if f.service.finish(); done {
			f.Expect(f.service.keys()).To(BeEmpty(), "it is left, and neither ledger nor status name it")
		}
		f.clock.Step(2 * settle)
	}
}
