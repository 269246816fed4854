package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// What left the spec stays as long as the spec names what comes after it as the user's own. The plan doesn't say that it is deleted.
func TestPlan_deletesNothingBeforeWhatTheSpecNames(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	g, kind := f.graphOf(f.owner())
	graph.Add(g, kind, f.want("left", graph.Add(g, kind, f.want("net"))))
	_, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	left := f.ledger().Entry("left").ID
	spec := func() *graph.Graph {
		g, kind := f.graphOf(f.owner())
		w := f.want("own")
		w.Claim, w.Update = graph.Use(left), nil
		graph.Add(g, kind, w)
		return g
	}
	plan := spec().Plan(t.Context())
	for range 4 {
		_, _ = spec().Reconcile(t.Context())
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	f.Expect(f.service.called("delete " + f.ledger().Entry("net").ID)).To(BeZero())
	f.Expect(plan).NotTo(ContainElement(HaveField("Action", graph.ActionDelete)), "%+v", plan)
}
