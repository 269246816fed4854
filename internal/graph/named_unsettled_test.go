package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/graph"
)

// Without tags: the spec names what an unanswered create has made, and no list shows it yet. It isn't used as the user's own before the attempt
// has settled.
func TestOurs_withoutATagAreNamedBeforeAnyListShowsThem(t *testing.T) {
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
	lostAnswer(f, "create group")
	round(true)
	f.service.after = nil
	f.expectCondition(round(false), "ownReady", "False", "Waiting", "isn't known yet: thing id-1 may be what it made")
	hidden = false
	f.expectCondition(round(false), "ownReady", "False", "ClaimChanged", "was created for this object")
	f.Expect(f.deletesUntagged()).To(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty(), "%v", f.service.changes())
}
