package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// As TestOurs_stayOursWhenALookupFindsThem, under the same key, and made by an unanswered create. With Use it isn't deleted as long as the spec
// names it; nor is it with a lookup.
func TestOurs_stayOursWhenALookupFindsWhatAnUnansweredCreateMade(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*graph.Kind[thing]){"with tags": func(*graph.Kind[thing]) {}, "without tags": untagged} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			lostAnswer(f, "create group")
			g, kind := f.graphOf(f.owner(), change)
			graph.Add(g, kind, f.want("group"))
			_, _ = g.Reconcile(t.Context())
			f.service.after = nil
			for range 3 {
				g, kind := f.graphOf(f.owner(), change)
				w := f.want("group")
				w.Claim, w.Update = graph.UseFound("by name", func(context.Context) (string, error) { return "id-1", nil }), nil
				graph.Add(g, kind, w)
				_, _ = g.Reconcile(t.Context())
				f.clock.Step(2 * settle)
			}
			f.Expect(f.service.called("delete id-1")).To(BeZero(), "%v", f.service.changes())
		})
	}
}
