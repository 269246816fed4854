package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// A key is replaced by another one with the same name, and what comes after both holds the old one. Nothing is deleted or created twice; the
// condition says what to do, and that helps.
func TestReplaced_underAnotherKeyAndTheSameName(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	round := func(key, name string) (why string) {
		owner := f.owner()
		g, kind := f.graphOf(owner, titled)
		w := f.want(key)
		w.Claim, w.Update = graph.UseOrCreate(name), nil
		w.Create = func(context.Context, graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) {
				made, err := f.service.create(graph.Tag{})
				made.title = name
				return made, err
			}, nil
		}
		graph.Add(g, kind, f.want("member", graph.Add(g, kind, w)))
		_, _ = g.Reconcile(t.Context())
		f.service.finish()
		f.clock.Step(2 * settle)
		return meta.FindStatusCondition(owner.Status.Conditions, key+"Ready").Message
	}
	for range 3 {
		_ = round("one", "name")
	}
	f.Expect(f.ledger().Entry("member").ID).NotTo(BeEmpty())
	before, why := f.service.changes(), ""
	for range 5 {
		why = round("other", "name")
	}
	f.Expect(why).To(ContainSubstring("choose another name"))
	f.Expect(f.service.changes()).To(Equal(before))
	for range 8 {
		_ = round("other", "another name")
	}
	f.Expect(f.ledger().Entry("other")).To(HaveField("State", ledgerv1.Bound))
	f.Expect(f.ledger().Entry("one")).To(BeNil())
}
