package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// groups reconciles an owner with a group (ours, or the user's own id-1 under another key) and a VPC after it.
func (f *fixture) groups(own string) {
	g, kind := f.graphOf(f.owner())
	w := f.want("group")
	if own != "" {
		w = f.want("group/" + own)
		w.Claim = graph.Use(own)
	}
	graph.Add(g, kind, f.want("vpc", graph.Add(g, kind, w)))
	_, _ = g.Reconcile(f.t.Context())
	f.clock.Step(2 * settle)
}

// What comes after it still uses the old one, because the new one isn't ready; the old one is deleted all the same.
func TestReplaced_isDeletedOnceItsSuccessorIsReady(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs") // id-1
	f.groups("")
	f.groups("")
	f.Expect(f.ledger().Entry("group").ID).To(Equal("id-2"))
	f.service.things[theirs.id].creating = true // it isn't ready
	f.groups(theirs.id)
	f.Expect(f.service.called("delete id-2")).To(BeZero(), "the VPC has it still: %v", f.service.calls)
}

// A stray takes the place of the user's own in the ledger, which is deleted after it.
func TestTheirs_keepTheirEntryWhereAStrayHasTheKey(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, ledger := f.madeAll()
	f.update(ledger, func(l *ledgerv1.Ledger) { l.Spec.Entries = []ledgerv1.Entry{*l.Entry("left")} })
	f.Expect(f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: "net", Kind: "thing", ID: "id-1", Own: false})).To(Succeed())
	_, err := f.service.create(graph.Tag{Owner: ledger.Spec.OwnerID, Key: "net", Token: "another"}) // id-5
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	f.deletes()
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "%v", f.service.calls)
}

// Without tags: an attempt whose answer is lost gets another key. It is taken for the user's own for a while.
func TestTheirs_areNotWhatAnAttemptUnderAnotherKeyMayHaveMade(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	round := func(key string) {
		g, kind := f.graphOf(f.owner(), titled)
		w := f.want(key)
		w.Claim, w.Update = graph.UseOrCreate("name"), nil
		lost := key == "one"
		w.Create = func(context.Context, graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) {
				made, err := f.service.create(graph.Tag{})
				made.title = "name"
				if lost {
					return nil, errors.New("connection reset")
				}
				return made, err
			}, nil
		}
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
	}
	round("one")
	f.Expect(f.ledger().Entry("one").State).To(Equal(ledgerv1.Pending))
	for range 6 {
		round("other")
		if e := f.ledger().Entry("other"); e != nil && e.Foreign {
			t.Errorf("what we have made is in the ledger as the user's own: %+v; %v", e, f.service.changes())
		}
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	t.Logf("%+v %v", f.ledger().Spec.Entries, f.service.changes())
}
