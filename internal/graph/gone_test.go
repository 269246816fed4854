package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
)

// A spec names by mistake, in one net, the ID of a leaf that lies in another one, and that is ours under another key. It isn't in the net
// that the spec says, which doesn't prove it gone from its own.
func TestGone_isOfOneScope(t *testing.T) {
	t.Parallel()
	for _, untagged := range []bool{false, true} {
		t.Run(fmt.Sprint("untagged ", untagged), func(t *testing.T) {
			t.Parallel()
			f := newPlot(t)
			f.untagged = untagged
			want := func(wrong string) func(g *graph.Graph, nets, leaves, _ *graph.Kind[thing]) {
				return func(g *graph.Graph, nets, leaves, _ *graph.Kind[thing]) {
					net, other := graph.Add(g, nets, f.want("net")), graph.Add(g, nets, f.want("other"))
					if wrong != "" {
						w := f.leaf("named", other)
						w.Claim = graph.Use(wrong)
						graph.Add(g, leaves, w)
					}
					graph.Add(g, leaves, f.leaf("leaf", net))
				}
			}
			_, err := f.rounds(3, want(""))
			f.Expect(err).NotTo(HaveOccurred())
			leaf := f.ledger().Entry("leaf").ID
			_, _ = f.rounds(3, want(leaf))
			f.Expect(f.service.keys()).To(Equal([]string{"leaf", "net", "other"}))
			f.Expect(f.ledger().Entry("leaf").ID).To(Equal(leaf))
		})
	}
}

// The ledger was edited: it has a leaf in a net where it doesn't lie. The last search of a deletion finds it in its own.
func TestGone_doesNotHideWhatLiesElsewhere(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	one, two := f.put("one").id, f.put("two").id
	want := func(g *graph.Graph, nets, leaves, _ *graph.Kind[thing]) {
		net, other := f.want("net"), f.want("other")
		net.Claim, other.Claim = graph.Use(one), graph.Use(two)
		graph.Add(g, nets, other)
		graph.Add(g, leaves, f.leaf("leaf", graph.Add(g, nets, net)))
	}
	_, err := f.rounds(3, want)
	f.Expect(err).NotTo(HaveOccurred())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry("leaf").Scope = graph.Scope{netKind: two} })
	owner, done := f.goes()
	f.Expect(done).To(BeTrue(), f.why(owner))
	f.Expect(f.service.keys()).To(Equal([]string{"", ""}), "the user's own nets")
}

// Names are IDs, and a create is answered while a reconcile runs that has just seen that there is nothing of the name yet.
func TestGone_isWhatAnAnswerHasNotMadeSince(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.pool = &creates.Pool{Limit: 10}
	queue := f.woken()
	proceed, made := make(chan struct{}), false
	named := func(k *graph.Kind[thing]) {
		titled(k)
		k.Get = func(_ context.Context, id string, _ graph.Scope) (*thing, error) {
			f.service.mu.Lock()
			there := f.service.things[id]
			f.service.mu.Unlock()
			if there != nil {
				return new(*there), nil
			}
			if !made { // the create is done right after this read
				made = true
				close(proceed)
				f.Eventually(queue.Len).Should(Equal(1))
			}
			return nil, &fault.Error{Class: fault.NotFound, Op: "get " + id, Err: errors.New("404")}
		}
	}
	reconcile := func() {
		g, kind := f.graphOf(f.owner(), named)
		use, create := f.want("use"), f.want("create")
		use.Claim, create.Claim = graph.Use("n1"), graph.CreateNamed("n1")
		create.Update = nil
		create.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) {
				<-proceed
				f.service.mu.Lock()
				defer f.service.mu.Unlock()
				t := &thing{id: key.Title, title: key.Title, tag: graph.Tag{Key: "create"}}
				f.service.things[t.id] = t
				return new(*t), nil
			}, nil
		}
		if f.ledger() != nil && f.ledger().Entry("create") != nil {
			graph.Add(g, kind, use)
		}
		graph.Add(g, kind, create)
		_, _ = g.Reconcile(t.Context())
	}
	reconcile()
	f.Expect(f.ledger().Entry("create").State).To(Equal(ledgerv1.Pending))
	reconcile()
	f.Expect(made).To(BeTrue())
	f.Expect(f.service.keys()).To(Equal([]string{"create"}))
	f.Expect(f.ledger().Entry("create")).NotTo(BeNil(), "it leads to what exists")
	f.Expect(f.ledger().Entry("create").ID).To(Equal("n1"))
}

// The service may bring back what is gone, and has another one of ours, which the ledger lacks. A deletion ends.
func TestGoneAfter_anotherOneOfOursIsDeletedToo(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.Expect(f.round(f.owner(), graph.Create())).To(Succeed())
	another := *f.service.things["id-1"]
	another.id = "id-2"
	f.service.things = map[string]*thing{another.id: &another}
	f.Expect(f.deleteOwner(func(k *graph.Kind[thing]) { k.GoneAfter = settle })).To(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty())
}
