package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

// An older ledger was put back. What it lacks lies in what it has, so the service doesn't delete that: some say that it is in use, and
// others that they are busy with it.
func TestDelete_takesAwayWhatAnOlderLedgerLacksIfThatUsesTheRest(t *testing.T) {
	t.Parallel()
	for _, refused := range []fault.Class{fault.Conflict, fault.Busy} {
		t.Run(string(refused), func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.madeAll()
			f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = []ledgerv1.Entry{*l.Entry("net")} })
			net := f.service.mustFind("net").id
			f.service.before = func(call string) error {
				if call == "delete "+net && len(f.service.things) > 1 {
					return &fault.Error{Class: refused, Err: errors.New("cannot be deleted")}
				}
				return nil
			}
			f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			owner, done := f.deletes()
			f.Expect(done).To(BeTrue(), "%v %v", f.service.changes(), meta.FindStatusCondition(owner.Status.Conditions, "Ready"))
			f.Expect(f.service.things).To(BeEmpty())
		})
	}
}

// A service that is silent is asked once, also if something of another one is in use.
func TestDelete_doesNotSearchInASilentService(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	other := newService()
	kinds := func() (*graph.Kind[thing], *graph.Kind[thing]) {
		a, b := f.service.kind(), other.kind()
		a.Service, b.Service, b.Name = &graph.Service{Endpoint: "a"}, &graph.Service{Endpoint: "b"}, "other"
		return a, b
	}
	open := func() (*graph.Graph, *graph.Kind[thing], *graph.Kind[thing]) {
		a, b := kinds()
		g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, a, b)
		f.Expect(err).NotTo(HaveOccurred())
		return g, a, b
	}
	for range 2 {
		g, a, b := open()
		graph.Add(g, a, f.want("net"))
		w := f.want("key")
		w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) {
				return other.create(graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token})
			}, nil
		}
		w.Update = nil
		graph.Add(g, b, w)
		_, err := g.Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
	}
	f.service.before = func(call string) error {
		if call == "delete "+f.service.mustFind("net").id {
			return &fault.Error{Class: fault.Conflict, Err: errors.New("it is in use")}
		}
		return nil
	}
	other.before = func(string) error { return context.DeadlineExceeded }
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	before := len(other.calls)
	g, _, _ := open()
	_, _, _ = g.Delete(t.Context())
	f.Expect(other.calls[before:]).To(HaveLen(1))
}

// The list still shows what is gone, and something outside uses the net.
func TestDelete_entersNothingThatIsGone(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.madeAll()
	net, left := f.service.mustFind("net").id, *f.service.mustFind("left")
	f.service.before = func(call string) error {
		if call == "delete "+net {
			return &fault.Error{Class: fault.Conflict, Err: errors.New("it is in use")}
		}
		return nil
	}
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	writes := 0
	f.write = func() error { writes++; return nil }
	var log []int
	for range 10 {
		before := writes
		kind := f.service.kind()
		find := kind.Find
		kind.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
			found, err := find(ctx, key)
			if f.service.things[left.id] == nil {
				found = append(found, left)
			}
			return found, err
		}
		g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, kind)
		f.Expect(err).NotTo(HaveOccurred())
		_, _, _ = g.Delete(t.Context())
		f.service.finish()
		log = append(log, writes-before)
	}
	f.Expect(log[6:]).To(HaveEach(0), "%v", log)
}
