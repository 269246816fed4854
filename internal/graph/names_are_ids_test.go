package graph_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// A service without tags whose IDs are names; the name of ours is generated, and holds the owner's ID. The user has kept one of that name
// for a while, has given it back and deleted it. Ours is created again, and the answer is lost: it is ours, and goes with the owner.
func TestTheirs_hadTheIDThatOursHasNow(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"the owner is deleted": false, "the owner stays": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			named := func(k *graph.Kind[thing]) {
				k.Tag = nil
				find := k.Find
				k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
					all, err := find(ctx, key)
					return slices.DeleteFunc(all, func(t thing) bool { return t.id != key.Owner+"-"+key.Name }), err
				}
			}
			lost := false
			round := func(own string) {
				g, kind := f.graphOf(f.owner(), named)
				switch own {
				case "":
					w := f.want("group")
					w.Update = nil
					w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
						return func(context.Context) (*thing, error) {
							id := key.Owner + "-" + key.Name
							if f.service.things[id] != nil {
								return nil, &fault.Error{Class: fault.Conflict, Op: "create " + id, OtherID: id, Err: errors.New("409")}
							}
							f.service.things[id] = &thing{id: id, tag: graph.Tag{Owner: key.Owner}}
							if lost {
								return nil, errors.New("connection reset")
							}
							return f.service.things[id], nil
						}, nil
					}
					graph.Add(g, kind, w)
				case "none":
				default:
					w := f.want("group/" + own)
					w.Claim = graph.Use(own)
					graph.Add(g, kind, w)
				}
				_, _ = g.Reconcile(t.Context())
				f.service.finish()
				f.clock.Step(2 * settle)
			}
			round("")
			id := f.ledger().Entry("group").ID
			f.Expect(id).To(HaveSuffix("-group"))
			round(id)
			round(id)
			f.Expect(f.ledger().Entry("group/" + id).Foreign).To(BeTrue())
			round("none")
			f.Expect(f.ledger().Spec.Released).To(Equal([]string{"thing " + id}))
			delete(f.service.things, id) // by the user
			lost = true
			round("")
			lost = false
			f.Expect(f.ledger().Entry("group").State).To(Equal(ledgerv1.Pending))
			if again {
				for range 6 {
					round("")
				}
				f.Expect(f.ledger().Entry("group")).To(HaveField("State", ledgerv1.Bound), "%+v", f.ledger().Spec)
			}
			f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			for range 6 {
				g, _ := f.graphOf(f.owner(), named)
				if done, _, _ := g.Delete(t.Context()); done {
					break
				}
				f.service.finish()
				f.clock.Step(2 * settle)
			}
			f.Expect(f.service.things).To(BeEmpty(), "ours is left: %v", f.service.calls)
		})
	}
}
