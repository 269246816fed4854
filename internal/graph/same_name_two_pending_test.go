package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/bedplate/bedplate/internal/graph"
)

// As TestReplaced_underAnotherKeyAndTheSameNameWhileItsCreateIsPending, but the service finishes late, and the second create isn't answered either.
// The second one isn't begun before the first one has settled: nothing could tell afterwards which one is whose.
func TestReplaced_underAnotherKeyAndTheSameNameBeforeItsCreateHasSettled(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	late, attempted := true, []string(nil)
	make := func(key string) *thing {
		made, _ := f.service.create(graph.Tag{Key: key})
		f.service.things[made.id].title = "name"
		return made
	}
	round := func(key string) {
		g, kind := f.graphOf(f.owner(), titled)
		w := f.want(key)
		w.Claim, w.Update = graph.CreateNamed("name"), nil
		w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) {
				if !late {
					return make(key.Name), nil
				}
				attempted = append(attempted, key.Name)
				return nil, errors.New("connection reset")
			}, nil
		}
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
	}
	round("one")
	round("other")
	for _, create := range attempted { // within the settle time
		make(create)
	}
	late = false
	for range 20 {
		round("other")
		f.service.finish()
		f.clock.Step(settle / 4)
	}
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	done, why := false, ""
	for range 8 {
		owner := f.owner()
		g, _ := f.graphOf(owner, titled)
		if done, _, _ = g.Delete(t.Context()); done {
			break
		}
		why = meta.FindStatusCondition(owner.Status.Conditions, "Ready").Message
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	f.Expect(done).To(BeTrue(), "%s: %v", why, f.service.changes())
	f.Expect(f.service.keys()).To(BeEmpty())
}
