package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
)

func lostAnswer(f *fixture, create string) {
	f.service.after = func(call string) error {
		if call == create {
			return errors.New("connection reset")
		}
		return nil
	}
}

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

// As TestYours_isWhatTheSpecUsesUnderAnotherKey, and the lookup of the user's own fails once (503).
func TestTheirs_whileTheirLookupFailsOnce(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.groups("")
	f.groups("")
	f.Expect(f.ledger().Entry("group").ID).To(Equal("id-1"))
	failed := false
	f.service.before = func(call string) error {
		if call == "get id-1" && !failed {
			failed = true
			return &fault.Error{Class: fault.Transient, Op: call, Err: errors.New("503")}
		}
		return nil
	}
	f.groups("id-1")
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "the spec uses it as the user's own: %v", f.service.calls)
}

// The same without an error: what the user's own comes after isn't ready.
func TestTheirs_whileTheyWaitForWhatComesBefore(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	round := func(own bool) {
		g, kind := f.graphOf(f.owner())
		site := graph.Add(g, kind, f.want("site"))
		w := f.want("group", site)
		if own {
			w = f.want("group/id-2", site)
			w.Claim = graph.Use("id-2")
		}
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(2 * settle)
	}
	round(false)
	round(false)
	f.Expect(f.ledger().Entry("group").ID).To(Equal("id-2"))
	f.service.things["id-1"].creating = true // the site is in maintenance
	round(true)
	f.Expect(f.service.called("delete id-2")).To(BeZero(), "the spec uses it as the user's own: %v", f.service.calls)
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

// The answer to the create is lost; the user sees it, and names it: under another key.
func TestTheirs_wereMadeByAnAttemptUnderAnotherKey(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	lostAnswer(f, "create group")
	f.groups("")
	f.service.after = nil
	f.Expect(f.ledger().Entry("group").State).To(Equal(ledgerv1.Pending))
	for range 3 {
		f.groups("id-1")
	}
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "the ledger has it as the user's own: %+v", f.ledger().Spec.Entries)
}

// The same under the same key.
func TestTheirs_wereMadeByAnAttemptUnderTheSameKey(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	lostAnswer(f, "create lonely")
	_ = f.round(f.owner(), graph.Create())
	f.service.after = nil
	f.Expect(f.ledger().Entry("lonely").State).To(Equal(ledgerv1.Pending))
	for range 3 {
		_ = f.round(f.owner(), graph.Use("id-1"))
		f.clock.Step(2 * settle)
	}
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "the spec names it: %v", f.service.calls)
}

// Ours is deleted; then what carries the same tag, and is the user's own by the ledger.
func TestTheirs_carryTheTagOfWhatIsDeleted(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{false, true} {
		f := inMemory(t)
		f.groups("")
		second, err := f.service.create(graph.Tag{Owner: f.ledger().Spec.OwnerID, Key: "group", Token: "earlier"}) // id-3
		f.Expect(err).NotTo(HaveOccurred())
		for range 2 {
			g, kind := f.graphOf(f.owner())
			graph.Add(g, kind, f.want("group"))
			w := f.want("own")
			w.Claim = graph.Use(second.id)
			graph.Add(g, kind, w)
			_, _ = g.Reconcile(t.Context())
		}
		f.Expect(f.ledger().Entry("own").Foreign).To(BeTrue())
		f.Expect(f.ledger().Entry("group").ID).To(Equal("id-1"))
		if all {
			f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
			f.deletes()
		} else {
			for range 6 {
				f.service.finish()
				f.clock.Step(2 * settle)
				g, kind := f.graphOf(f.owner())
				w := f.want("own")
				w.Claim = graph.Use(second.id)
				graph.Add(g, kind, w)
				_, _ = g.Reconcile(t.Context())
			}
		}
		if n := f.service.called("delete " + second.id); n > 0 {
			t.Errorf("deletion of all: %t: the ledger has it as the user's own, and it is deleted: %v", all, f.service.changes())
		}
	}
}

// A double that the ledger has as the user's own.
func TestTheirs_areNoDoubles(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	lostAnswer(f, "create lonely")
	_ = f.round(f.owner(), graph.Create()) // id-1
	f.service.after = nil
	e := f.ledger().Entry("lonely")
	f.Expect(e.State).To(Equal(ledgerv1.Pending))
	double, err := f.service.create(graph.Tag{Owner: f.ledger().Spec.OwnerID, Key: "lonely", Token: e.Token}) // id-2
	f.Expect(err).NotTo(HaveOccurred())
	for range 2 {
		g, kind := f.graphOf(f.owner())
		w := f.want("own")
		w.Claim = graph.Use(double.id)
		graph.Add(g, kind, w)
		graph.Add(g, kind, f.want("lonely"))
		_, _ = g.Reconcile(t.Context())
	}
	f.Expect(f.service.called("delete "+double.id)).To(BeZero(), "%+v", f.ledger().Spec.Entries)
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
