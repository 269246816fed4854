package graph_test

import (
	"cmp"
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// Without tags: the spec asks by its name for what an unanswered create has made under a generated one. It is deleted first, and another one is
// created: the plan says so.
func TestPlan_createsWhatIsDeletedUnderItsGeneratedName(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	spec := func(claim graph.Claim) *graph.Graph {
		g, kind := f.graphOf(f.owner(), named(f))
		w := f.want("group")
		w.Claim, w.Update = claim, nil
		w.Create = func(_ context.Context, key graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) {
				made, err := f.service.create(graph.Tag{Key: key.Name})
				made.title = cmp.Or(key.Title, key.Name+"-"+key.Owner)
				return made, err
			}, nil
		}
		graph.Add(g, kind, w)
		return g
	}
	lostAnswer(f, "create group")
	_, _ = spec(graph.Create()).Reconcile(t.Context())
	f.service.after = nil
	claim := graph.UseOrCreate(f.service.things["id-1"].title)
	plan := spec(claim).Plan(t.Context())
	for range 6 {
		_, _ = spec(claim).Reconcile(t.Context())
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	f.Expect(f.service.changes()).To(Equal([]string{"create group", "delete id-1", "create group"}))
	f.Expect(plan).To(ContainElement(HaveField("Action", graph.ActionCreate)), "%+v", plan)
	f.Expect(plan).NotTo(ContainElement(HaveField("Action", graph.ActionUse)), "%+v", plan)
}

// With tags: the name in the spec is changed while a create isn't answered. What that has made is deleted first, and another one is created: the plan
// says so.
func TestPlan_createsWhatIsDeletedForItsName(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	spec := func(name string) *graph.Graph {
		g, kind := f.graphOf(f.owner())
		w := f.want("group")
		w.Claim, w.Update = graph.CreateNamed(name), nil
		graph.Add(g, kind, w)
		return g
	}
	lostAnswer(f, "create group")
	_, _ = spec("old").Reconcile(t.Context())
	f.service.after = nil
	plan := spec("new").Plan(t.Context())
	for range 6 {
		_, _ = spec("new").Reconcile(t.Context())
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	f.Expect(f.service.changes()).To(Equal([]string{"create group", "delete id-1", "create group"}))
	f.Expect(plan).To(ContainElement(HaveField("Action", graph.ActionCreate)), "%+v", plan)
	f.Expect(plan).NotTo(ContainElement(HaveField("Action", graph.ActionAdopt)), "%+v", plan)
}
