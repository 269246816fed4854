package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// What left the spec is held by what the spec wants and can't have: that was made after it, and its name can't be changed, or what it is to come
// after instead is gone. The plan doesn't say that it is deleted.
func TestPlan_deletesNothingThatIsHeldByWhatIsWanted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *fixture, g *graph.Graph, kind *graph.Kind[thing]){
		"it is renamed": func(f *fixture, g *graph.Graph, kind *graph.Kind[thing]) {
			w := f.want("left")
			w.Claim = graph.CreateNamed("another")
			graph.Add(g, kind, w)
		},
		"it comes after what doesn't exist": func(f *fixture, g *graph.Graph, kind *graph.Kind[thing]) {
			own := f.want("own")
			own.Claim, own.Update = graph.Use("missing"), nil
			w := f.want("left", graph.Add(g, kind, own))
			w.Claim = graph.CreateNamed("name")
			graph.Add(g, kind, w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			g, kind := f.graphOf(f.owner())
			w := f.want("left", graph.Add(g, kind, f.want("net")))
			w.Claim = graph.CreateNamed("name")
			graph.Add(g, kind, w)
			_, err := g.Reconcile(t.Context())
			f.Expect(err).NotTo(HaveOccurred())
			spec := func() *graph.Graph {
				g, kind := f.graphOf(f.owner())
				change(f, g, kind)
				return g
			}
			plan := spec().Plan(t.Context())
			for range 6 {
				_, _ = spec().Reconcile(t.Context())
				f.service.finish()
				f.clock.Step(2 * settle)
			}
			f.Expect(f.ledger().Entry("net")).NotTo(BeNil())
			f.Expect(f.service.called("delete " + f.ledger().Entry("net").ID)).To(BeZero())
			f.Expect(plan).NotTo(ContainElement(HaveField("Action", graph.ActionDelete)), "%+v", plan)
		})
	}
}
