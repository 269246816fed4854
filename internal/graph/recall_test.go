package graph_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// kindShowing is an owner whose status shows things of several kinds.
type kindShowing struct {
	*bmmv1.NvidiaBMMCluster
	ids []ledgerv1.OutsideID
}

func (s kindShowing) Unwrap() client.Object            { return s.NvidiaBMMCluster }
func (s kindShowing) OutsideIDs() []ledgerv1.OutsideID { return slices.Clone(s.ids) }

// Two services give IDs of their own, so that one ID may be that of two things. The ledger lacks one of them, and it has lost its tag.
func TestRecall_anIDIsThatOfAKind(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	one, other := newService(), newService()
	shown := func() kindShowing {
		return kindShowing{f.owner(), []ledgerv1.OutsideID{{Kind: "one", ID: "id-1"}, {Kind: "other", ID: "id-1"}}}
	}
	open := func(owner graph.Owner) (*graph.Graph, *graph.Kind[thing], *graph.Kind[thing]) {
		a, b := one.kind(), other.kind()
		a.Name, b.Name = "one", "other"
		g, err := f.engine().New(t.Context(), owner, []string{"any"}, a, b)
		f.Expect(err).NotTo(HaveOccurred())
		return g, a, b
	}
	g, a, b := open(f.owner())
	for _, at := range []struct {
		key  string
		s    *service
		kind *graph.Kind[thing]
	}{{"a", one, a}, {"b", other, b}} {
		w := f.want(at.key)
		w.Update = nil
		w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) {
				return at.s.create(graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token})
			}, nil
		}
		graph.Add(g, at.kind, w)
	}
	_, err := g.Reconcile(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = []ledgerv1.Entry{*l.Entry("a")} })
	other.things["id-1"].tag = graph.Tag{}
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	done := false
	for range 6 {
		g, _, _ = open(shown())
		if done, _, _ = g.Delete(t.Context()); done {
			break
		}
		one.finish()
		other.finish()
	}
	f.Expect(done && len(other.things) > 0).To(BeFalse(), "the owner is released, and %+v is left", other.things["id-1"])
}

// What was recalled from the status is forgotten by a write that fails, and the same reconcile continues without it.
func TestRecall_outlivesAWriteThatFails(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	open := func(wrong bool, shown ...string) *graph.Graph {
		owner := showing{f.owner(), shown}
		g, kind := f.graphOf(owner, func(k *graph.Kind[thing]) {
			find := k.Find
			k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
				all, err := find(ctx, key)
				if wrong {
					wrong, all = false, nil
				}
				return all, err
			}
		})
		graph.Add(g, kind, f.want("first"))
		graph.Add(g, kind, f.want("second"))
		return g
	}
	for range 2 {
		_, err := open(false).Reconcile(t.Context())
		f.Expect(err).NotTo(HaveOccurred())
	}
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	writes := 0
	f.write = func() error {
		if writes++; writes == 1 {
			return errors.New("etcdserver: request timed out")
		}
		return nil
	}
	g := open(true, "id-1", "id-2") // a list that is wrong once
	f.Expect(g.Names("thing", "id-2")).To(BeTrue())
	_, _ = g.Reconcile(t.Context())
	t.Logf("writes %d, calls %v", writes, f.service.changes())
	f.Expect(f.service.keys()).To(Equal([]string{"first", "second"}))
	f.Expect(g.Names("thing", "id-2")).To(BeTrue(), "the status goes on showing what exists")
}
