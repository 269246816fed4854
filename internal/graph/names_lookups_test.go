package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// bucket is a want whose resource has its name as its ID. If lost is set, creates are done and not answered.
func (f *fixture) bucket(key string, c graph.Claim, lost *bool) graph.Want[thing] {
	w := f.claims(key, c)
	w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
		return func(context.Context) (made *thing, err error) {
			err = f.service.do("create "+key.Name, func() error {
				if f.service.things[key.Title] != nil {
					return &fault.Error{Class: fault.Conflict, Err: errors.New("the name is taken")}
				}
				made = &thing{id: key.Title, title: key.Title}
				f.service.things[made.id] = made
				return nil
			})
			if lost != nil && *lost {
				return nil, errors.New("connection reset")
			}
			return made, err
		}, nil
	}
	return w
}

// deleteOwner deletes the owner, and continues until that is done.
func (f *fixture) deleteOwner(change func(*graph.Kind[thing])) (done bool) {
	f.t.Helper()
	f.Expect(f.client.Delete(f.t.Context(), f.owner())).To(Succeed())
	for range 10 {
		g, _ := f.graphOf(f.owner(), change)
		if done, _, _ = g.Delete(f.t.Context()); done {
			return true
		}
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	return false
}

// Rule 6: ours is gone when Get says so. Without tags: ours of a name is being deleted, and another key's create of that name isn't answered
// yet. What is recorded in its "before" is ours, under another key.
func TestOurs_beingDeletedStayInTheLedger(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	only := func(key string) {
		g, k := f.graphOf(f.owner(), titled)
		graph.Add(g, k, f.claims(key, graph.CreateNamed("n")))
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(2 * poll)
	}
	only("old")
	only("old")
	f.Expect(f.ledger().Entry("old").ID).To(Equal("id-1"))
	only("new") // the deletion of id-1 is requested
	f.Expect(f.service.things["id-1"].deleting).To(BeTrue())
	lostAnswer(f, "create new")
	only("new")
	f.service.after = nil
	f.Expect(f.ledger().Entry("new").State).To(Equal(ledgerv1.Pending))
	f.Expect(f.ledger().Entry("old")).NotTo(BeNil(), "id-1 is ours, and exists")
}

// The same to its end: the service fails to delete it, so that it is as before. It is left outside.
func TestOurs_thatCouldNotBeDeletedAreNotLeftOutside(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	only := func(key string) {
		g, k := f.graphOf(f.owner(), titled)
		graph.Add(g, k, f.claims(key, graph.CreateNamed("n")))
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(2 * poll)
	}
	only("old")
	only("old")
	only("new")
	lostAnswer(f, "create new")
	only("new")
	f.service.after = nil
	f.service.things["id-1"].deleting = false
	f.clock.Step(2 * settle)
	only("new")
	f.deleteOwner(titled)
	f.Expect(f.service.things).To(BeEmpty(), "%v %v", f.service.changes(), f.ledger())
}

// Rule 7: ours under another key is deleted first. Where IDs are names, what was made under the new key is deleted under the old one.
func TestNames_thatAreIDsAreNotDeletedUnderAnOldKey(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	spec := func(key string) func(*graph.Graph, *graph.Kind[thing]) {
		return func(g *graph.Graph, k *graph.Kind[thing]) {
			graph.Add(g, k, f.bucket(key, graph.CreateNamed("bucket"), nil))
		}
	}
	f.specifies(2, titled, spec("old"))
	f.specifies(6, titled, spec("new"))
	f.Expect(f.service.called("delete bucket")).To(Equal(1), "%v", f.service.changes())
	f.Expect(f.service.called("create new")).To(Equal(1), "%v", f.service.changes())
}

// Rule 1, 6: where IDs are names, the user's own under a key is gone, and the spec gives the key another name, or names it under a second
// one. What is made under that key is dropped from the ledger.
func TestNames_thatAreIDsOfAnotherKeyAreNotLeftOutside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, beside graph.Claim
		claim          graph.Claim
		lost, kept     bool
	}{
		"the key is renamed":                 {before: graph.UseOrCreate("bucket"), claim: graph.UseOrCreate("bucket")},
		"the key is renamed, no answer":      {before: graph.UseOrCreate("bucket"), claim: graph.UseOrCreate("bucket"), lost: true},
		"used, and created under another":    {before: graph.Use("bucket"), claim: graph.CreateNamed("bucket")},
		"both are wanted":                    {before: graph.Use("bucket"), claim: graph.UseOrCreate("bucket"), kept: true},
		"looked up, then created":            {before: finding("bucket"), claim: graph.CreateNamed("bucket")},
		"looked up, then created, no answer": {before: finding("bucket"), claim: graph.CreateNamed("bucket"), lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.service.things["bucket"] = &thing{id: "bucket", title: "bucket"}
			f.specifies(2, titled, func(g *graph.Graph, k *graph.Kind[thing]) { graph.Add(g, k, f.claims("old", c.before)) })
			f.Expect(f.ledger().Entry("old").Foreign).To(BeTrue())
			delete(f.service.things, "bucket") // its user
			f.specifies(6, titled, func(g *graph.Graph, k *graph.Kind[thing]) {
				graph.Add(g, k, f.bucket("new", c.claim, &c.lost))
				if c.kept {
					graph.Add(g, k, f.claims("old", c.before))
				}
			})
			t.Logf("%v %+v", f.service.changes(), f.ledger().Spec)
			done := f.deleteOwner(titled)
			f.Expect(f.service.things).To(BeEmpty(), "done %v, %v", done, f.service.changes())
		})
	}
}

// Rule 7: that there is none is an answer if it is given twice. It is given after the keys that are added before it were decided.
func TestDoubles_doNotWaitForALookupThatFindsNone(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	lostAnswer(f, "create group")
	f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) { graph.Add(g, k, f.claims("group", graph.Create())) })
	f.service.after = nil
	_, _ = f.service.create(f.service.things["id-1"].tag)
	f.specifies(6, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.Create()))
		graph.Add(g, k, f.claims("own", graph.UseFound("by name", none)))
	})
	f.Expect(f.ledger().Entry("group").State).To(Equal(ledgerv1.Bound), "%v", f.service.changes())
}

// The same of an attempt under another name.
func TestAttempt_doesNotWaitForALookupThatFindsNone(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	lostAnswer(f, "create group")
	f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.CreateNamed("first")))
	})
	f.service.after = nil
	f.specifies(8, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.CreateNamed("second")))
		graph.Add(g, k, f.claims("own", graph.UseFound("by name", none)))
	})
	f.Expect(f.service.called("create group")).To(Equal(2), "%v", f.service.changes())
}

// Rule 10: a plan says what the next reconciles do. Here they delete a double, or what an attempt under another name has made.
func TestPlan_ofWhatALookupMayFind(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs") // id-1
	lostAnswer(f, "create group")
	f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.CreateNamed("first"))) // id-2
	})
	f.service.after = nil
	spec := func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.CreateNamed("second")))
		graph.Add(g, k, f.claims("own", finding(theirs.id)))
	}
	g, k := f.graphOf(f.owner(), as)
	spec(g, k)
	plan := g.Plan(t.Context())
	f.specifies(8, as, spec)
	f.Expect(f.service.called("delete id-2")).To(Equal(1))
	f.Expect(f.service.called("create group")).To(Equal(2))
	f.Expect(plan).To(ContainElement(And(HaveField("Key", "group"), HaveField("Action", graph.ActionCreate))), "%+v", plan)
}

// A ledger that an operator has edited: a bound entry has lost its ID and its token. The key leaves the spec, what it names is found, and is
// being deleted when the key is wanted again, by a lookup that finds none.
func TestLookup_thatFindsNoneUnderAnEditedKey(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.specifies(2, as, func(g *graph.Graph, k *graph.Kind[thing]) { graph.Add(g, k, f.claims("group", graph.Create())) })
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry("group").ID, l.Entry("group").Token = "", "" })
	g, _ := f.graphOf(f.owner(), as)
	_, _ = g.Reconcile(t.Context())
	f.Expect(f.service.things["id-1"].deleting).To(BeTrue())
	f.Expect(func() {
		f.specifies(4, as, func(g *graph.Graph, k *graph.Kind[thing]) {
			graph.Add(g, k, f.claims("group", graph.UseFound("by name", none)))
		})
	}).NotTo(Panic())
}

// Rule 2, 3: a list may be wrong once. What is being deleted is in the first list and not in the second; it is brought back by its owner.
func TestBefore_isWhatEitherListShows(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.put("name").deleting = true // id-1
	finds, hide := 0, true
	late := func(k *graph.Kind[thing]) {
		titled(k)
		find := k.Find
		k.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
			if finds++; finds == 2 && hide {
				return nil, nil
			}
			return find(ctx, key)
		}
	}
	round := func() {
		g, k := f.graphOf(f.owner(), late)
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
	f.deleteOwner(late)
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "%v", f.service.changes())
}

// Names are swapped while an attempt isn't answered: what is to be deleted has the name that another key wants, after which a lookup comes.
func TestLookup_afterWhatNeedsTheNameOfAnAttemptIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	lostAnswer(f, "create group")
	f.specifies(1, titled, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.CreateNamed("first")))
	})
	f.service.after = nil
	f.specifies(10, titled, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.CreateNamed("second")))
		made := graph.Add(g, k, f.claims("new", graph.UseOrCreate("first")))
		graph.Add(g, k, f.claims("own", finding(theirs.id), made))
	})
	f.Expect(f.ledger().Entry("own")).NotTo(BeNil(), "%v %+v", f.service.changes(), f.ledger().Spec)
}

// Rule 7: what a lookup finds in another scope isn't known while it waits for that.
func TestLookup_inAnotherScopeIsNotAnsweredYet(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs") // id-1, in the first net
	ready := true
	round := func(first, ours bool) {
		nets, leaves := f.service.kind(), f.service.kind()
		nets.Name = "net"
		leaves.Name, leaves.Within = "leaf", []string{"net"}
		g, err := f.engine().New(t.Context(), f.owner(), []string{"any"}, nets, leaves)
		f.Expect(err).NotTo(HaveOccurred())
		one, two := graph.Add(g, nets, f.claims("one", graph.Create())), graph.Add(g, nets, f.claims("two", graph.Create()))
		if ours {
			graph.Add(g, leaves, f.claims("ours", graph.Create(), two))
		}
		gate := g.Gate("BeforeReady", func() phases.Phase {
			if !ready {
				return phases.Waiting("it isn't ready")
			}
			return phases.Ready()
		})
		claim, in := finding(theirs.id), one
		if !first {
			in = two
			claim = finding(f.service.mustFind("ours").id)
		}
		graph.Add(g, leaves, f.claims("own", claim, in, gate))
		_, _ = g.Reconcile(t.Context())
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	for range 3 {
		round(true, true)
	}
	l := f.ledger()
	f.Expect(l.Entry("own").Scope["net"]).To(Equal(l.Entry("one").ID))
	ready = false
	round(false, false)
	f.Expect(f.service.has("ours")).To(BeTrue(), "the spec may name it: %v", f.service.changes())
}
