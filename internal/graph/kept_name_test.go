package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// What the user has kept carries our tag and has a name. Under a claim with that name it is the user's own of that name.
func TestTheirs_haveTheNameOfAClaim(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]graph.Claim{"UseOrCreate": graph.UseOrCreate("red"), "CreateNamed": graph.CreateNamed("red")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := kept(t)
			f.service.things["id-2"].title = "red"
			f.keeps("")
			f.Expect(f.ledger().Spec.Released).To(Equal([]string{"thing id-2"}))
			before := len(f.service.things)
			for range 3 {
				g, kind := f.graphOf(f.owner())
				w := f.want("site")
				w.Claim = graph.Use("id-1")
				group := f.want("group", graph.Add(g, kind, w))
				group.Claim = claim
				graph.Add(g, kind, group)
				_, _ = g.Reconcile(t.Context())
				f.clock.Step(2 * settle)
			}
			f.Expect(f.service.things).To(HaveLen(before), "a second one of that name was created beside the user's own: %v", f.service.changes())
		})
	}
}
