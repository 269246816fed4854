package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// The user's own carries our tag under the same key: an attempt without an answer has made it, and the spec names it. Then the spec asks
// for ours again. The plan says that it is adopted; a reconcile creates another one.
func TestPlan_adoptsNothingThatIsReleased(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	lostAnswer(f, "create lonely")
	_ = f.round(f.owner(), graph.Create())
	f.service.after = nil
	for range 3 {
		f.clock.Step(2 * settle)
		_ = f.round(f.owner(), graph.Use("id-1"))
	}
	f.Expect(f.ledger().Entry("lonely")).To(And(HaveField("ID", "id-1"), HaveField("Foreign", true)))

	g, kind := f.graphOf(f.owner())
	graph.Add(g, kind, f.want("lonely"))
	plan := g.Plan(t.Context())
	for range 3 {
		f.clock.Step(2 * settle)
		_ = f.round(f.owner(), graph.Create())
	}
	f.Expect(f.ledger().Entry("lonely").ID).To(Equal("id-2"))
	f.Expect(plan[len(plan)-1].Action).To(Equal(graph.ActionCreate), "%+v; done: %v", plan, f.service.changes())
}
