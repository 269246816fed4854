package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// An attempt without an answer has made id-2. The spec names that as the user's own for a while (it isn't bound, because what it comes
// after isn't ready) and then doesn't. The next attempt of ours is refused, because its name is taken: by id-2, which isn't ours.
func TestTheirs_areRememberedByTheNextAttempt(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{"the service says what has the name": "id-2", "it doesn't say": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			site := f.put("site") // id-1
			lostAnswer(f, "create group")
			round := func(own string) {
				g, kind := f.graphOf(f.owner())
				w := f.want("site")
				w.Claim = graph.Use(site.id)
				s := graph.Add(g, kind, w)
				group := f.want("group")
				create := group.Create
				group.Create = func(ctx context.Context, key graph.Key) (graph.Call[thing], error) {
					if f.service.things["id-2"] == nil {
						return create(ctx, key)
					}
					return func(context.Context) (*thing, error) {
						return nil, &fault.Error{Class: fault.Conflict, Op: "create", Err: errors.New("the name is taken"), OtherID: says}
					}, nil
				}
				graph.Add(g, kind, group)
				if own != "" {
					w := f.want("group/"+own, s)
					w.Claim = graph.Use(own)
					graph.Add(g, kind, w)
				}
				_, _ = g.Reconcile(t.Context())
			}
			round("")
			f.service.after = nil
			f.Expect(f.ledger().Entry("group").State).To(Equal(ledgerv1.Pending))
			site.creating = true
			round("id-2")
			f.Expect(f.ledger().Entry("group").Theirs).To(ContainElement("id-2"))
			site.creating = false
			for range 4 {
				f.clock.Step(2 * settle)
				round("")
				f.Expect(f.ledger().Entry("group").ID).To(BeEmpty(), "taken for ours: %+v", f.ledger().Spec)
			}
		})
	}
}
