package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// The spec may change after the ledger has the answer of a lookup: it is looked up again, once, and nothing is deleted.
func TestUseFound_isLookedUpAgainWhenTheSpecChanges(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	ids, lookups := map[string]string{"red": f.put("red").id, "blue": f.put("blue").id}, 0
	found := func(by string) graph.Claim {
		return graph.UseFound(by, func(context.Context) (string, error) { lookups++; return ids[by], nil })
	}
	checked := func(id string) graph.Claim {
		return graph.UseChecked(id, func(context.Context) (string, error) { lookups++; return id, nil })
	}
	for i, step := range []struct {
		claim graph.Claim
		id    string
	}{
		{found("red"), ids["red"]}, {found("blue"), ids["blue"]}, {graph.Use(ids["red"]), ids["red"]}, {found("blue"), ids["blue"]},
		{checked(ids["red"]), ids["red"]}, {checked(ids["blue"]), ids["blue"]}, {found("red"), ids["red"]},
	} {
		before := lookups
		for range 4 {
			_ = f.round(f.owner(), step.claim)
			f.clock.Step(2 * settle)
		}
		f.Expect(f.ledger().Entry("lonely")).To(And(HaveField("ID", step.id), HaveField("Foreign", true)), "step %d", i)
		f.Expect(lookups-before).To(BeNumerically("<=", 1), "step %d", i)
	}
	f.Expect(f.service.changes()).To(HaveLen(2), "the two that the user has created")
}

// The spec puts what exists into another site: it stays, and the condition says so until the spec is set back.
func TestScope_ofWhatExistsIsNotWhatTheSpecSaysNow(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	f.within = []string{"site"}
	site := f.put("red").id
	want := func(g *graph.Graph, _, leaves, sites *graph.Kind[thing]) {
		w := f.want("site")
		w.Claim = graph.UseFound(site, func(context.Context) (string, error) { return site, nil })
		graph.Add(g, leaves, f.leaf(leafKey, graph.Add(g, sites, w)))
	}
	expect := func(reason string) {
		t.Helper()
		owner, err := f.rounds(4, want)
		f.Expect(err).NotTo(HaveOccurred())
		f.Expect(meta.FindStatusCondition(owner.Status.Conditions, "Ready").Reason).To(Equal(reason), f.why(owner))
		f.Expect(f.ledger().Entry(leafKey)).To(And(HaveField("State", ledgerv1.Bound), HaveField("Scope", graph.Scope{"site": "id-1"})))
	}
	expect("Ready")
	site = f.put("blue").id
	expect("ClaimChanged")
	site = "id-1"
	expect("Ready")
	_, done := f.goes()
	f.Expect(done).To(BeTrue())
	f.Expect(f.service.called("delete id-1") + f.service.called("delete id-3")).To(BeZero())
}
