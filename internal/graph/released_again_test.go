package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// Where IDs are names, such as those of buckets, what is made has the ID of what was the user's own before and is gone now.
func TestReleased_isMadeAgainWhereIDsAreNames(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"answered": false, "not answered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.service.things["bucket"] = &thing{id: "bucket", title: "bucket"}
			spec := func(wanted bool) func(*graph.Graph, *graph.Kind[thing]) {
				return func(g *graph.Graph, k *graph.Kind[thing]) {
					if !wanted {
						return
					}
					w := f.claims("bucket", graph.UseOrCreate("bucket"))
					w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
						return func(context.Context) (*thing, error) {
							made := &thing{id: key.Title, title: key.Title}
							f.service.things[made.id] = made
							if lost {
								return nil, errors.New("connection reset")
							}
							return made, nil
						}, nil
					}
					graph.Add(g, k, w)
				}
			}
			f.specifies(2, titled, spec(true))
			f.Expect(f.ledger().Entry("bucket").Foreign).To(BeTrue())
			f.specifies(2, titled, spec(false))
			f.Expect(f.ledger().Spec.Released).To(ConsistOf("thing bucket"))
			f.service.things["bucket"].deleting = true // a client of the user's
			g, k := f.graphOf(f.owner(), titled)
			spec(true)(g, k)
			_, _ = g.Reconcile(t.Context())
			f.Expect(f.ledger().Entry("bucket")).To(BeNil(), "the name is still in use")
			f.service.finish()
			f.specifies(4, titled, spec(true))
			f.Expect(f.ledger().Entry("bucket")).To(And(HaveField("ID", "bucket"), HaveField("Foreign", false)), "%v", f.ledger().Spec)
			f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			for range 6 {
				g, _ := f.graphOf(f.owner(), titled)
				if done, _, _ := g.Delete(t.Context()); done {
					break
				}
				f.service.finish()
				f.clock.Step(2 * settle)
			}
			f.Expect(f.service.things).To(BeEmpty())
		})
	}
}

// The same if the create is refused, because there is one again that is the user's own. What the status still shows isn't lost, so that a
// deletion doesn't wait for it.
func TestReleased_staysSoWhenACreateIsRefused(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	round := func(wanted bool, shown ...string) {
		g, k := f.graphOf(showing{f.owner(), shown}, titled)
		w := f.bucket("bucket", graph.UseOrCreate("bucket"), nil)
		create := w.Create
		w.Create = func(ctx context.Context, key graph.Key) (graph.Call[thing], error) {
			f.service.things["bucket"] = &thing{id: "bucket", title: "bucket"}
			return create(ctx, key)
		}
		if wanted {
			graph.Add(g, k, w)
		}
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(2 * settle)
	}
	f.service.things["bucket"] = &thing{id: "bucket", title: "bucket"}
	round(true)
	round(false, "bucket")
	delete(f.service.things, "bucket")
	round(true, "bucket")
	f.Expect(f.ledger().Entry("bucket").Refusal).To(Equal("Conflict"))
	round(false, "bucket")
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	g, _ := f.graphOf(showing{f.owner(), []string{"bucket"}}, titled)
	done, _, _ := g.Delete(t.Context())
	f.Expect(done).To(BeTrue(), "%+v", f.ledger().Spec)
	f.Expect(f.service.things).To(HaveKey("bucket"))
}

// Many of a name are being deleted when another one is attempted, which makes nothing. One of them is brought back by its owner: it isn't
// what was attempted, however many there were.
func TestBefore_isRecordedOfAllThatHaveTheName(t *testing.T) {
	t.Parallel()
	for _, n := range []int{65, 257} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			for range n {
				f.service.things[f.put("name").id].deleting = true
			}
			round := func() {
				g, k := f.graphOf(f.owner(), titled)
				w := f.claims("lonely", graph.CreateNamed("name"))
				w.Create = func(context.Context, graph.Key) (graph.Call[thing], error) {
					return func(context.Context) (*thing, error) { return nil, errors.New("502") }, nil
				}
				graph.Add(g, k, w)
				_, _ = g.Reconcile(t.Context())
			}
			round()
			f.service.things["id-1"].deleting = false
			f.clock.Step(2 * settle)
			round()
			f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			for range 4 {
				g, _ := f.graphOf(f.owner(), titled)
				_, _, _ = g.Delete(t.Context())
				f.clock.Step(2 * settle)
			}
			f.Expect(f.service.called("delete id-1")).To(BeZero(), "%v", f.service.changes())
		})
	}
}
