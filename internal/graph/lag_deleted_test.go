package graph_test

import (
	"context"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// Rule 2, 3: without tags, ours of a name is being deleted, and another key's create of that name isn't answered. When the first one is gone, a
// list still shows it, and not yet what was made. It isn't what was attempted.
func TestAttempt_isNotGivenWhatWasDeletedUnderAnotherKey(t *testing.T) {
	t.Parallel()
	for name, wanted := range map[string]bool{"wanted": true, "its owner is deleted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			lags, stale := false, []thing(nil) // of lists for the new key
			late := func(k *graph.Kind[thing]) {
				titled(k)
				find := k.Find
				k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
					all, err := find(ctx, key)
					if lags && key.Name == "new" {
						return slices.Clone(stale), err
					}
					return all, err
				}
			}
			only := func(key string) {
				g, k := f.graphOf(f.owner(), late)
				graph.Add(g, k, f.claims(key, graph.CreateNamed("n")))
				_, _ = g.Reconcile(t.Context())
				f.clock.Step(poll)
			}
			only("old")
			only("old")
			only("new") // the deletion of id-1 is requested
			lostAnswer(f, "create new")
			lags = true
			stale = []thing{*f.service.things["id-1"]}
			only("new")
			f.service.after = nil
			f.service.finish()
			for range 3 {
				only("new")
			}
			if !wanted {
				f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
				for range 3 {
					g, _ := f.graphOf(f.owner(), late)
					_, _, _ = g.Delete(t.Context())
					f.clock.Step(poll)
				}
				lags = false
				for range 10 {
					g, _ := f.graphOf(f.owner(), late)
					if done, _, _ := g.Delete(t.Context()); done {
						break
					}
					f.service.finish()
					f.clock.Step(2 * settle)
				}
				f.Expect(f.service.things).To(BeEmpty(), "%v", f.service.changes())
				return
			}
			lags = false
			for range 6 {
				f.clock.Step(settle)
				only("new")
			}
			f.Expect(f.ledger().Entry("new")).To(HaveField("ID", "id-2"), "%v", f.service.changes())
			f.Expect(f.service.changes()).To(Equal([]string{"create old", "delete id-1", "create new"}))
		})
	}
}
