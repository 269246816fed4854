package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// What left the spec is held by what the spec wants after something new, and which isn't as wanted and can't be changed. That lets go of what left
// the spec as soon as the new one is ready, and it is deleted: the plan says so.
func TestPlan_deletesWhatIsLetGoByWhatCannotBeChanged(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	g, kind := f.graphOf(f.owner())
	graph.Add(g, kind, f.want("left", graph.Add(g, kind, f.want("net"))))
	_, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	net, left := f.ledger().Entry("net").ID, f.ledger().Entry("left").ID
	f.size, f.stuck = 1, map[string]error{left: errors.New("its size can't be changed")}
	spec := func() *graph.Graph {
		g, kind := f.graphOf(f.owner())
		graph.Add(g, kind, f.want("left", graph.Add(g, kind, f.want("other"))))
		return g
	}
	plan := spec().Plan(t.Context())
	for range 6 {
		_, _ = spec().Reconcile(t.Context())
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	f.Expect(f.service.called("delete "+net)).To(Equal(1), "%v", f.service.changes())
	f.Expect(plan).To(ContainElement(And(HaveField("Key", "net"), HaveField("Action", graph.ActionDelete))), "%+v", plan)
}
