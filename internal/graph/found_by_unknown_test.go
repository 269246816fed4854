package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// What the user's own is looked up by isn't known while what it comes after isn't ready. Then the spec says something else: the user's own is looked
// up again.
func TestFoundBy_isLookedUpAgainAfterItWasUnknown(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	ids := map[string]string{"first": f.put("").id, "second": f.put("").id}
	round := func(by string) {
		g, kind := f.graphOf(f.owner(), untagged)
		before := g.Gate("BeforeReady", func() phases.Phase {
			if by == "" {
				return phases.Waiting("it isn't ready")
			}
			return phases.Ready()
		})
		w := f.want("own", before)
		w.Update = nil
		w.Claim = graph.UseFoundBy(func() string { return by }, func(context.Context) (string, error) { return ids[by], nil })
		graph.Add(g, kind, w)
		_, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
	}
	round("first")
	f.Expect(f.ledger().Entry("own").ID).To(Equal(ids["first"]))
	round("")
	for range 4 {
		round("second")
	}
	f.Expect(f.ledger().Entry("own").ID).To(Equal(ids["second"]))
}
