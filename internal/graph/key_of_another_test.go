package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// A ledger that was edited by hand names what is ours under a second key, which leaves the spec.
func TestLedger_thatNamesOneResourceTwiceTakesNothingAwayThatIsWanted(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	left := f.service.mustFind("left").id
	f.update(ledger, func(l *ledgerv1.Ledger) { l.Entry("right").ID = left })
	f.below = []string{"left"}
	for range 3 {
		_, err := f.reconcile()
		f.Expect(err).NotTo(HaveOccurred())
	}
	f.Expect(f.service.called("delete " + left)).To(BeZero())
	f.deleteAll(func() graph.Owner { return f.owner() })
}

// `bedplate ledger adopt` with a slip in the key.
func TestAdoptInto_aWrongKeyTakesNothingAway(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	left := f.service.mustFind("left").id
	f.update(ledger, func(l *ledgerv1.Ledger) {
		l.Spec.Entries = []ledgerv1.Entry{*l.Entry("net"), *l.Entry("right"), *l.Entry("lonely")}
	})
	f.Expect(f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: "lefft", Kind: "thing", ID: left, Own: true})).To(Succeed())
	for range 3 {
		_, err := f.reconcile()
		f.Expect(err).NotTo(HaveOccurred())
	}
	f.Expect(f.service.called("delete " + left)).To(BeZero())
	f.deleteAll(func() graph.Owner { return f.owner() })
}
