package graph_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// named is a kind without tags, whose names are those of the spec, or generated from key and owner.
func named(f *fixture) func(*graph.Kind[thing]) {
	return func(k *graph.Kind[thing]) {
		untagged(k)
		k.Find = func(_ context.Context, key graph.Key) (found []thing, err error) {
			err = f.service.do("find", func() error {
				for _, id := range slices.Sorted(maps.Keys(f.service.things)) {
					if t := f.service.things[id]; t.title == cmp.Or(key.Title, key.Name+"-"+key.Owner) {
						found = append(found, *t)
					}
				}
				return nil
			})
			return found, err
		}
	}
}

// Without tags, as TestOurs_withoutATagAreNamedBeforeTheyAreFound: the spec names by its name what an unanswered create has made.
func TestOurs_withoutATagAreNamedByTheirNamesBeforeTheyAreFound(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	round := func(key string, claim graph.Claim) {
		g, kind := f.graphOf(f.owner(), named(f))
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
		f.clock.Step(2 * settle)
	}
	lostAnswer(f, "create group")
	round("group", graph.Create())
	f.service.after = nil
	name := f.service.things["id-1"].title // as the user sees it outside
	for range 4 {
		round("own", graph.UseOrCreate(name))
		f.service.finish()
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
