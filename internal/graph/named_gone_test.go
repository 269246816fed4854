package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// Without tags: what an unanswered create has made was found, and is deleted. What the user makes under that name afterwards isn't ours: it is
// neither deleted nor taken for ours.
func TestGone_withoutATagTakesNothingElseOfThatName(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"and the owner is deleted": true, "and the key leaves the spec": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			round := func(wanted bool) {
				g, kind := f.graphOf(f.owner(), titled)
				w := f.want("group")
				w.Claim, w.Update = graph.CreateNamed("name"), nil
				w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
					return func(context.Context) (*thing, error) {
						made, err := f.service.create(graph.Tag{Key: key.Name})
						f.service.things["id-1"].title = key.Title
						return made, err
					}, nil
				}
				switch {
				case wanted:
					graph.Add(g, kind, w)
					_, _ = g.Reconcile(t.Context())
				case deleted:
					_, _, _ = g.Delete(t.Context())
				default:
					_, _ = g.Reconcile(t.Context())
				}
				f.clock.Step(settle / 4)
			}
			lostAnswer(f, "create group")
			round(true)
			f.service.after = nil
			f.Expect(f.ledger().Entry("group").ID).To(BeEmpty())
			if deleted {
				f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			}
			round(false)
			f.Expect(f.ledger().Entry("group").ID).To(Equal("id-1"))
			f.Expect(f.service.called("delete id-1")).To(Equal(1))
			f.service.finish()
			own := f.put("name") // it was seen that the name is free again
			for range 12 {
				if f.ledger() != nil && f.ledger().Entry("group") != nil {
					round(false)
				}
			}
			f.Expect(f.service.called("delete "+own.id)).To(BeZero(), "%v", f.service.changes())
		})
	}
}
