package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// The spec names what was made for its owner by a lookup, not by an ID. It isn't deleted as long as the spec names it, either.
func TestOurs_stayOursWhenALookupFindsThem(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.names(naming{ours: true})
	f.names(naming{ours: true})
	for range 3 {
		g, kind := f.graphOf(f.owner())
		w := f.want("own")
		w.Claim, w.Update = graph.UseFound("by name", func(context.Context) (string, error) { return "id-1", nil }), nil
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(2 * settle)
	}
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "%v", f.service.changes())
}
