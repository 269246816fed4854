package graph_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// As TestReplaced_isNotHeldByAnAttemptThatMadeNothing, but the service has answered that the name is taken, and doesn't say by what.
func TestReplaced_isNotHeldByAnAttemptWhoseNameWasTaken(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	round := func(turned bool) *graph.Graph {
		g, kind := f.graphOf(f.owner())
		key := "old"
		if turned {
			key = "new"
		}
		w := f.want(key)
		create := w.Create
		w.Create = func(ctx context.Context, k graph.Key) (graph.Call[thing], error) {
			if turned {
				for _, t := range f.service.things {
					if t.tag.Key == "old" {
						return nil, &fault.Error{Class: fault.Busy, Err: errors.New("the old one has the range")}
					}
				}
			}
			return create(ctx, k)
		}
		graph.Add(g, kind, f.want("server", graph.Add(g, kind, w)))
		_, _ = g.Reconcile(t.Context())
		f.service.finish()
		return g
	}
	f.service.before = func(call string) error {
		if call == "create server" {
			return &fault.Error{Class: fault.Conflict, Err: errors.New("the name is taken")}
		}
		return nil
	}
	round(false)
	round(false)
	f.Expect(f.ledger().Entry("server").State).To(Equal(ledgerv1.Refused))
	f.service.before = nil
	for range 40 {
		round(true)
		f.clock.Step(settle + time.Second)
	}
	f.Expect(f.service.keys()).To(Equal([]string{"new", "server"}), "%v", f.ledger().Spec.Entries)
}
