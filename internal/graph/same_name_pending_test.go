package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// Without tags: a key is replaced by another one with the same name while its create isn't answered. What the other key has made isn't what the
// unanswered create has made.
func TestReplaced_underAnotherKeyAndTheSameNameWhileItsCreateIsPending(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]graph.Claim{"CreateNamed": graph.CreateNamed("name"), "UseOrCreate": graph.UseOrCreate("name")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			lost := true
			round := func(key string) {
				g, kind := f.graphOf(f.owner(), titled)
				w := f.want(key)
				w.Claim, w.Update = claim, nil
				w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
					return func(context.Context) (*thing, error) {
						if lost {
							return nil, errors.New("connection reset")
						}
						made, err := f.service.create(graph.Tag{Key: key.Name})
						made.title = "name"
						return made, err
					}, nil
				}
				graph.Add(g, kind, w)
				_, _ = g.Reconcile(t.Context())
				f.service.finish()
			}
			round("one")
			lost = false
			for range 20 {
				round("other")
				f.clock.Step(settle / 4)
			}
			t.Log(f.service.changes())
			f.Expect(f.service.called("create other")).To(Equal(1), "%v", f.service.changes())
			f.Expect(f.service.keys()).To(Equal([]string{"other"}))
			f.Expect(f.ledger().Entry("one")).To(BeNil())
		})
	}
}
