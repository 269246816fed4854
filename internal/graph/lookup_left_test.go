package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// rounds of a spec, in which the service does what it was asked for.
func (f *fixture) specifies(rounds int, change func(*graph.Kind[thing]), spec func(*graph.Graph, *graph.Kind[thing])) {
	f.t.Helper()
	for range rounds {
		g, kind := f.graphOf(f.owner(), change)
		spec(g, kind)
		_, _ = g.Reconcile(f.t.Context())
		f.service.finish()
		f.clock.Step(2 * settle)
	}
}

// claims is a want whose resource has the title that it is created with.
func (f *fixture) claims(key string, c graph.Claim, after ...graph.Ref) graph.Want[thing] {
	w := f.want(key, after...)
	w.Claim, w.Update = c, nil
	w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
		return func(context.Context) (made *thing, err error) {
			made, err = f.service.create(graph.Tag{Owner: key.Owner, Key: key.Name, Token: key.Token})
			if made != nil {
				made.title = key.Title
			}
			return made, err
		}, nil
	}
	return w
}

func finding(id string) graph.Claim {
	return graph.UseFound("by name", func(context.Context) (string, error) { return id, nil })
}

func none(context.Context) (string, error) {
	return "", &fault.Error{Class: fault.NotFound, Op: "look up", Err: errors.New("there is none")}
}

func as(*graph.Kind[thing]) {}

// has reports, within a call, whether there is a thing of the key.
func (s *service) has(key string) bool {
	for _, t := range s.things {
		if t.tag.Key == key {
			return true
		}
	}
	return false
}

// What left the spec isn't deleted before a lookup is answered; the lookup waits for what needs the name of what left.
func TestLookup_afterWhatNeedsANameIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]graph.Claim{"CreateNamed": graph.CreateNamed("n"), "UseOrCreate": graph.UseOrCreate("n")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			theirs := f.put("theirs")
			f.specifies(2, titled, func(g *graph.Graph, k *graph.Kind[thing]) { graph.Add(g, k, f.claims("old", graph.CreateNamed("n"))) })
			f.Expect(f.ledger().Entry("old").ID).NotTo(BeEmpty())
			f.specifies(6, titled, func(g *graph.Graph, k *graph.Kind[thing]) {
				made := graph.Add(g, k, f.claims("new", claim))
				gate := g.Gate("BetweenReady", phases.Ready, made)
				graph.Add(g, k, f.claims("own", finding(theirs.id), gate))
			})
			l := f.ledger()
			f.Expect(l.Entry("old")).To(BeNil(), "%v", f.service.changes())
			f.Expect(l.Entry("own").ID).To(Equal(theirs.id))
			f.Expect(l.Entry("new").Foreign).To(BeFalse())
		})
	}
}

// The same with a quota, which what left the spec has used up.
func TestLookup_afterWhatNeedsAQuotaIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]graph.Claim{"Create": graph.Create(), "UseOrCreate": graph.UseOrCreate("n")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			theirs := f.put("theirs")
			f.service.before = func(call string) error {
				if call == "create new" && f.service.has("old") {
					return &fault.Error{Class: fault.Quota, Err: errors.New("nothing left: ask for more")}
				}
				return nil
			}
			f.specifies(2, as, func(g *graph.Graph, k *graph.Kind[thing]) { graph.Add(g, k, f.claims("old", graph.Create())) })
			f.specifies(24, as, func(g *graph.Graph, k *graph.Kind[thing]) {
				made := graph.Add(g, k, f.claims("new", claim))
				graph.Add(g, k, f.claims("own", finding(theirs.id), made))
			})
			f.Expect(f.service.keys()).To(ConsistOf("", "new"), "%v", f.service.changes())
			f.Expect(f.ledger().Entry("own").ID).To(Equal(theirs.id))
		})
	}
}

// What an attempt under another name has made is deleted, and a lookup comes after the key.
func TestLookup_afterTheKeyOfAnAttemptIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	lostAnswer(f, "create group")
	f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.CreateNamed("first")))
	})
	f.service.after = nil
	f.specifies(8, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		group := graph.Add(g, k, f.claims("group", graph.CreateNamed("second")))
		graph.Add(g, k, f.claims("own", finding(theirs.id), group))
	})
	f.Expect(f.service.things[f.ledger().Entry("group").ID].title).To(Equal("second"), "%v", f.service.changes())
	f.Expect(f.ledger().Entry("own").ID).To(Equal(theirs.id))
}

// "There is none" is an answer, if it is given twice.
func TestLookup_thatFindsNoneKeepsNothing(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.names(naming{ours: true})
	f.names(naming{ours: true})
	f.specifies(3, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("own", graph.UseFound("by name", none)))
	})
	f.Expect(f.service.things).To(BeEmpty(), "%v", f.service.changes())

	f = inMemory(t)
	f.names(naming{ours: true})
	f.names(naming{ours: true})
	asked := 0
	f.specifies(3, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("own", graph.UseFound("by name", func(ctx context.Context) (string, error) {
			if asked++; asked == 1 {
				return none(ctx)
			}
			return "id-1", nil
		})))
	})
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "it is what the spec names")
}

// The same under the key of an unanswered create.
func TestLookup_thatFindsNoneLetsAnAttemptGo(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	lostAnswer(f, "create group")
	f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) { graph.Add(g, k, f.claims("group", graph.Create())) })
	f.service.after = nil
	f.specifies(4, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.UseFound("by name", none)))
	})
	f.Expect(f.service.things).To(BeEmpty(), "%v", f.service.changes())
}

// Of two that a race inside the service has made, neither is deleted while a lookup may find it.
func TestDoubles_stayWhileALookupIsNotAnswered(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	lostAnswer(f, "create group")
	f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) { graph.Add(g, k, f.claims("group", graph.Create())) })
	f.service.after = nil
	_, _ = f.service.create(f.service.things["id-1"].tag)
	f.specifies(3, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.Create()))
		graph.Add(g, k, f.claims("own", graph.UseFound("by name", func(context.Context) (string, error) { return "", errors.New("503") })))
	})
	f.Expect(f.service.things).To(HaveLen(2), "%v", f.service.changes())
	f.specifies(3, as, func(g *graph.Graph, k *graph.Kind[thing]) { graph.Add(g, k, f.claims("group", graph.Create())) })
	f.Expect(f.service.things).To(HaveLen(1), "%v", f.service.changes())
}

// What the user's own is looked up by isn't known, so that the answer to what it was looked up by before doesn't count.
func TestLookup_ofWhatIsNotKnownHasNoAnswer(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	by := "first"
	spec := func(ours bool) func(*graph.Graph, *graph.Kind[thing]) {
		return func(g *graph.Graph, k *graph.Kind[thing]) {
			if ours {
				graph.Add(g, k, f.claims("group", graph.Create()))
			}
			before := g.Gate("BeforeReady", func() phases.Phase {
				if by == "" {
					return phases.Waiting("it isn't ready")
				}
				return phases.Ready()
			})
			claim := graph.UseFoundBy(func() string { return by }, func(context.Context) (string, error) { return theirs.id, nil })
			graph.Add(g, k, f.claims("own", claim, before))
		}
	}
	f.specifies(3, as, spec(true))
	f.Expect(f.ledger().Entry("own").ID).To(Equal(theirs.id))
	by = ""
	f.specifies(3, as, spec(false))
	f.Expect(f.service.keys()).To(ConsistOf("", "group"), "%v", f.service.changes())
	by = "first"
	f.specifies(3, as, spec(false))
	f.Expect(f.service.keys()).To(ConsistOf(""), "%v", f.service.changes())
}

// A deletion of everything waits for no lookup, also if the spec was added.
func TestDelete_waitsForNoLookup(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.specifies(2, as, func(g *graph.Graph, k *graph.Kind[thing]) { graph.Add(g, k, f.claims("group", graph.Create())) })
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	done := false
	for range 4 {
		g, k := f.graphOf(f.owner(), as)
		graph.Add(g, k, f.claims("own", graph.UseFound("by name", func(context.Context) (string, error) { return "", errors.New("503") })))
		done, _, _ = g.Delete(t.Context())
		f.service.finish()
	}
	f.Expect(done).To(BeTrue(), "%v", f.service.changes())
}
