package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// Without tags, as TestOurs_withoutATagAreNamedBeforeTheyAreFound: the create was sent twice by the client, the first answer was lost, the
// second one says that the name is taken, and a list doesn't show by which one. The ledger keeps the token of such an attempt, because it may
// have made it.
func TestOurs_withoutATagAreNamedAfterTheirNameWasTaken(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.service.after = func(call string) error {
		if call == "create group" {
			return &fault.Error{Class: fault.Conflict, Op: "create", Err: errors.New("the name is taken")}
		}
		return nil
	}
	lists := 0
	late := func(k *graph.Kind[thing]) {
		untagged(k)
		find := k.Find
		k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
			if lists++; lists <= 2 {
				return nil, nil
			}
			return find(ctx, key)
		}
	}
	round := func(ours bool) {
		g, kind := f.graphOf(f.owner(), late)
		w := f.want("group")
		if !ours {
			w = f.want("own")
			w.Claim, w.Update = graph.Use("id-1"), nil
		}
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(2 * settle)
	}
	round(true)
	f.service.after = nil
	e := f.ledger().Entry("group")
	f.Expect(e.State).To(Equal(ledgerv1.Refused))
	f.Expect(e.Owned()).To(BeTrue(), "it may have been made")
	for range 4 {
		round(false)
	}
	f.Expect(f.deletesUntagged()).To(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty(), "%v", f.service.changes())
}
