package graph_test

import (
	"cmp"
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// As TestOurs_withoutATagAreNamedBeforeAnyListShowsThem, but the spec names it by its name. The lists for the attempt come from a replica that
// lags: "none found" doesn't count before the attempt has settled.
func TestOurs_withoutATagAreNamedByTheirNamesBeforeTheirListShowsThem(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	hidden := true
	late := func(k *graph.Kind[thing]) {
		named(f)(k)
		find := k.Find
		k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
			if hidden && key.Title == "" {
				return nil, nil
			}
			return find(ctx, key)
		}
	}
	round := func(key string, claim graph.Claim) {
		g, kind := f.graphOf(f.owner(), late)
		w := f.want(key)
		w.Claim, w.Update = claim, nil
		w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) {
				made, err := f.service.create(graph.Tag{Key: key.Name})
				made.title = cmp.Or(key.Title, key.Name+"-"+key.Owner)
				return made, err
			}, nil
		}
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
		f.service.finish()
	}
	lostAnswer(f, "create group")
	round("group", graph.Create())
	f.service.after = nil
	name := f.service.things["id-1"].title // as the user sees it outside
	round("own", graph.UseOrCreate(name))
	f.clock.Step(settle / 4)
	hidden = false // well before the attempt has settled
	for range 4 {
		round("own", graph.UseOrCreate(name))
		f.clock.Step(2 * settle)
	}
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	done := false
	for range 8 {
		g, _ := f.graphOf(f.owner(), named(f))
		if done, _, _ = g.Delete(t.Context()); done {
			break
		}
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	f.Expect(done).To(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty(), "%v", f.service.changes())
}
