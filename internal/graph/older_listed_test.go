package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// every other list of the kind, beginning with the first, is empty.
func everyOtherEmpty() func(*graph.Kind[thing]) {
	lists := 0
	return func(k *graph.Kind[thing]) {
		find := k.Find
		k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
			all, err := find(ctx, key)
			if lists++; lists%2 == 1 {
				all = nil
			}
			return all, err
		}
	}
}

// olderLedger is put back after something was made. What it lacks isn't in the status either, and one list doesn't show it.
func olderLedger(t *testing.T) (f *fixture, hides func(*graph.Kind[thing])) {
	f = inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	return f, everyOtherEmpty()
}

func TestOlderLedger_makesNoSecondOneOfWhatAListHides(t *testing.T) {
	t.Parallel()
	f, hides := olderLedger(t)
	f.Expect(f.round(f.owner(), graph.Create(), hides)).To(Succeed())
	f.Expect(f.service.things).To(HaveLen(1))
	f.Expect(f.ledger().Entry("lonely")).To(HaveField("ID", "id-1"))
}

func TestOlderLedger_leavesNothingThatAListHides(t *testing.T) {
	t.Parallel()
	f, hides := olderLedger(t)
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	g, _ := f.graphOf(f.owner(), hides)
	f.Expect(g.Plan(t.Context())).To(ConsistOf(And(HaveField("Action", graph.ActionDelete), HaveField("ID", "id-1"))))
	f.Expect(f.deleteOwner(hides)).To(BeTrue())
	f.Expect(f.service.things).To(BeEmpty())
}
