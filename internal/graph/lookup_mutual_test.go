package graph_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// Two keys, each with an unanswered create, are looked up now. What was made under each isn't deleted before both lookups are answered.
func TestLookup_ofTwoKeysWithAttemptsIsAnswered(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{"in order": {"one", "two"}, "in reverse": {"two", "one"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			theirs := map[string]*thing{"one": f.put("one"), "two": f.put("two")}
			f.service.after = func(call string) error {
				if call == "create one" || call == "create two" {
					return errors.New("connection reset")
				}
				return nil
			}
			f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) {
				graph.Add(g, k, f.claims("one", graph.Create()))
				graph.Add(g, k, f.claims("two", graph.Create()))
			})
			f.service.after = nil
			f.specifies(10, as, func(g *graph.Graph, k *graph.Kind[thing]) {
				for _, key := range keys {
					graph.Add(g, k, f.claims(key, finding(theirs[key].id)))
				}
			})
			f.Expect(f.service.keys()).To(ConsistOf("", ""), "%v", f.service.changes())
			f.Expect(f.ledger().Entry("one").ID).To(Equal(theirs["one"].id))
			f.Expect(f.ledger().Entry("two").ID).To(Equal(theirs["two"].id))
		})
	}
}

// The same where one of the lookups finds none, or both do.
func TestLookup_ofTwoKeysWithAttemptsMayFindNone(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{"in order": {"one", "two"}, "in reverse": {"two", "one"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			f.service.after = func(call string) error {
				if call == "create one" || call == "create two" {
					return errors.New("connection reset")
				}
				return nil
			}
			f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) {
				graph.Add(g, k, f.claims("one", graph.Create()))
				graph.Add(g, k, f.claims("two", graph.Create()))
			})
			f.service.after = nil
			f.specifies(10, as, func(g *graph.Graph, k *graph.Kind[thing]) {
				for _, key := range keys {
					graph.Add(g, k, f.claims(key, graph.UseFound("by name", none)))
				}
			})
			f.Expect(f.service.keys()).To(BeEmpty(), "%v", f.service.changes())
		})
	}
}

// "There is none" is an answer, also if the lookup comes after something that was added later than the key that waits for it.
func TestLookup_afterAGateThatFindsNoneIsAnswered(t *testing.T) {
	t.Parallel()
	own := func(f *fixture, g *graph.Graph, k *graph.Kind[thing]) {
		gate := g.Gate("BetweenReady", phases.Ready)
		graph.Add(g, k, f.claims("own", graph.UseFound("by name", none), gate))
	}
	t.Run("an attempt under another name", func(t *testing.T) {
		t.Parallel()
		f := inMemory(t)
		lostAnswer(f, "create group")
		f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) {
			graph.Add(g, k, f.claims("group", graph.CreateNamed("first")))
		})
		f.service.after = nil
		spec := func(g *graph.Graph, k *graph.Kind[thing]) {
			graph.Add(g, k, f.claims("group", graph.CreateNamed("second")))
			own(f, g, k)
		}
		g, k := f.graphOf(f.owner(), as)
		spec(g, k)
		plan := g.Plan(t.Context())
		f.specifies(8, as, spec)
		f.Expect(f.service.called("create group")).To(Equal(2), "%v", f.service.changes())
		f.Expect(plan).To(ContainElement(And(HaveField("Key", "group"), HaveField("Action", graph.ActionCreate))), "%+v", plan)
	})
	t.Run("a double", func(t *testing.T) {
		t.Parallel()
		f := inMemory(t)
		lostAnswer(f, "create group")
		f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) { graph.Add(g, k, f.claims("group", graph.Create())) })
		f.service.after = nil
		_, _ = f.service.create(f.service.things["id-1"].tag)
		f.specifies(8, as, func(g *graph.Graph, k *graph.Kind[thing]) {
			graph.Add(g, k, f.claims("group", graph.Create()))
			own(f, g, k)
		})
		f.Expect(f.service.things).To(HaveLen(1), "%v", f.service.changes())
	})
}

// What comes after a key that waits for a lookup is planned again when that is answered; what it releases is still in the plan.
func TestPlan_afterAKeyThatWaitsForALookupIsComplete(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	theirs := f.put("theirs")
	lostAnswer(f, "create group")
	f.specifies(1, as, func(g *graph.Graph, k *graph.Kind[thing]) {
		graph.Add(g, k, f.claims("group", graph.CreateNamed("first")))
		graph.Add(g, k, f.claims("node", graph.Use(theirs.id)))
	})
	f.service.after = nil
	g, k := f.graphOf(f.owner(), as)
	group := graph.Add(g, k, f.claims("group", graph.CreateNamed("second")))
	graph.Add(g, k, f.claims("node", graph.CreateNamed("node"), group))
	gate := g.Gate("BetweenReady", phases.Ready)
	graph.Add(g, k, f.claims("own", graph.UseFound("by name", none), gate))
	plan := g.Plan(t.Context())
	for _, action := range []graph.Action{graph.ActionRelease, graph.ActionCreate} {
		f.Expect(plan).To(ContainElement(And(HaveField("Key", "node"), HaveField("Action", action))), "%+v", plan)
	}
}
