package graph_test

import (
	"context"
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

// The ID was taken out of an entry by hand: "ours is looked for". A list that is wrong once makes a second one, as before b87a483.
func TestLedger_editedEntryIsLookedForTwice(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry("lonely").ID = "" })
	wrong := true
	_ = f.round(f.owner(), graph.Create(), func(k *graph.Kind[thing]) {
		find := k.Find
		k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
			found, err := find(ctx, key)
			if wrong {
				wrong, found = false, nil
			}
			return found, err
		}
	})
	f.Expect(f.service.called("create lonely")).To(Equal(1))
}

// A kind of which only the user's own is used has no Find. An operator has called one ours, and it is gone.
func TestDelete_ofAKindThatIsOnlyUsed(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	used := func(k *graph.Kind[thing]) { k.Find, k.Delete = nil, nil }
	f.Expect(f.round(f.owner(), graph.Use(theirs.id), used)).To(Succeed())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry("lonely").Foreign = false })
	delete(f.service.things, theirs.id)
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	g, _ := f.graphOf(f.owner(), used)
	f.Expect(func() { _, _, _ = g.Delete(t.Context()) }).NotTo(Panic())
}
