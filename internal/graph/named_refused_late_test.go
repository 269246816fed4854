package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// As TestOurs_withoutATagAreNamedBeforeAnyListShowsThem, but the client has sent the create twice: the first answer was lost, and the second one
// says that the name is taken. No list shows by which one before the service has settled.
func TestOurs_withoutATagAreNamedAfterTheirNameWasTakenBeforeAnyListShowsThem(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	hidden := true
	late := func(k *graph.Kind[thing]) {
		untagged(k)
		find := k.Find
		k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
			if hidden {
				return nil, nil
			}
			return find(ctx, key)
		}
	}
	round := func(ours bool) *bmmv1.NvidiaBMMCluster {
		owner := f.owner()
		g, kind := f.graphOf(owner, late)
		w := f.want("group")
		if !ours {
			w = f.want("own")
			w.Claim, w.Update = graph.Use("id-1"), nil
		}
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
		return owner
	}
	f.service.after = func(call string) error {
		if call == "create group" {
			return &fault.Error{Class: fault.Conflict, Op: "create", Err: errors.New("the name is taken")}
		}
		return nil
	}
	round(true)
	f.service.after = nil
	f.Expect(f.ledger().Entry("group")).To(And(HaveField("State", ledgerv1.Refused), HaveField("Token", Not(BeEmpty()))))
	for range 3 {
		round(false)
		f.clock.Step(settle / 12)
	}
	hidden = false
	round(false)
	f.Expect(f.deletesUntagged()).To(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty(), "%v", f.service.changes())
}
