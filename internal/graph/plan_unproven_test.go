package graph_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// While everything is deleted, the user's own is held by what nothing proves the owner of, and so isn't released. The plan says the same.
func TestPlan_releasesNothingThatIsHeldByWhatIsUnproven(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	own := f.put("")
	spec := func() {
		g, kind := f.graphOf(f.owner())
		w := f.want("own")
		w.Claim, w.Update = graph.Use(own.id), nil
		graph.Add(g, kind, f.want("left", graph.Add(g, kind, w)))
		_, _ = g.Reconcile(t.Context())
	}
	spec()
	spec()
	id := f.ledger().Entry("left").ID
	f.service.things[id].tag = graph.Tag{}
	f.update(f.ledger(), func(l *ledgerv1.Ledger) {
		l.Spec.Entries = slices.DeleteFunc(l.Spec.Entries, func(e ledgerv1.Entry) bool { return e.Key == "left" })
	})
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	g, _ := f.graphOf(showing{f.owner(), []string{id}})
	plan := g.Plan(t.Context())
	for range 4 {
		g, _ := f.graphOf(showing{f.owner(), []string{id}})
		_, _, _ = g.Delete(t.Context())
		f.clock.Step(2 * settle)
	}
	f.Expect(f.ledger().Entry("own")).NotTo(BeNil())
	f.Expect(plan).NotTo(ContainElement(HaveField("Action", graph.ActionRelease)), "%+v", plan)
}
