package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/bedplate/bedplate/internal/graph"
)

// listedLate is a titled kind of which one list is empty.
func listedLate(hidden *bool) func(*graph.Kind[thing]) {
	return func(k *graph.Kind[thing]) {
		titled(k)
		find := k.Find
		k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
			if *hidden {
				*hidden = false
				return nil, nil
			}
			return find(ctx, key)
		}
	}
}

// Without tags: the user's own of a name was used and released, and is asked for again. A list lacks it once, the create fails without an
// answer and without having made anything. What the list shows then is the user's own, which the ledger has as released.
func TestTheirs_withoutATagAreListedLate(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("name") // id-1
	hidden := false
	late := listedLate(&hidden)
	round := func(wanted bool) {
		g, kind := f.graphOf(f.owner(), late)
		if wanted {
			w := f.want("lonely")
			w.Claim, w.Update = graph.UseOrCreate("name"), nil
			w.Create = func(context.Context, graph.Key) (graph.Call[thing], error) {
				return func(context.Context) (*thing, error) { return nil, errors.New("502") }, nil
			}
			graph.Add(g, kind, w)
		}
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(2 * settle)
	}
	round(true)
	f.Expect(f.ledger().Entry("lonely").Foreign).To(BeTrue())
	round(false)
	f.Expect(f.ledger().Spec.Released).To(Equal([]string{"thing id-1"}))
	hidden = true
	for range 3 {
		round(true)
	}
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	for range 6 {
		g, _ := f.graphOf(f.owner(), late)
		if done, _, _ := g.Delete(t.Context()); done {
			break
		}
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	f.Expect(f.service.called("delete "+theirs.id)).To(BeZero(), "%v", f.service.calls)
}

// The same, and the create has made one: the released one is counted as a result of the attempt, too. The deletion hangs, and asks the user
// to rename or delete their own.
func TestTheirs_withoutATagAreNotAmbiguous(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.put("name") // id-1
	hidden := false
	late := listedLate(&hidden)
	round := func(wanted bool) {
		g, kind := f.graphOf(f.owner(), late)
		if wanted {
			w := f.want("lonely")
			w.Claim, w.Update = graph.UseOrCreate("name"), nil
			w.Create = func(context.Context, graph.Key) (graph.Call[thing], error) {
				return func(context.Context) (*thing, error) {
					made, _ := f.service.create(graph.Tag{}) // id-2
					made.title = "name"
					return nil, errors.New("502")
				}, nil
			}
			graph.Add(g, kind, w)
		}
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(2 * settle)
	}
	round(true)
	round(false)
	f.Expect(f.ledger().Spec.Released).To(Equal([]string{"thing id-1"}))
	hidden = true
	round(true)
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	done, why := false, ""
	for range 8 {
		owner := f.owner()
		g, _ := f.graphOf(owner, late)
		if done, _, _ = g.Delete(t.Context()); done {
			break
		}
		why = meta.FindStatusCondition(owner.Status.Conditions, "Ready").Message
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	f.Expect(done).To(BeTrue(), why)
	f.Expect(f.service.things).To(HaveLen(1))
}
