package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// Without tags: the ledger has the user's own under a key, and the user gives it the name of a create that wasn't answered and has made nothing. Then
// the spec asks for it under another key. It stays the user's own.
func TestTheirs_withoutATagStayTheirsUnderAnotherKey(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	own := f.put("old")
	round := func(key string) {
		g, kind := f.graphOf(f.owner(), titled)
		w := f.want(key)
		w.Claim, w.Update = graph.Use(own.id), nil
		graph.Add(g, kind, w)
		group := f.want("group")
		group.Claim, group.Update = graph.CreateNamed("name"), nil
		group.Create = func(context.Context, graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) { return nil, errors.New("connection reset") }, nil
		}
		graph.Add(g, kind, group)
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(settle / 4)
	}
	round("one")
	round("one")
	f.Expect(f.ledger().Entry("one")).To(HaveField("Foreign", true))
	f.Expect(f.ledger().Entry("group")).To(HaveField("ID", ""))
	own.title = "name"
	for range 12 {
		round("other")
	}
	t.Logf("%+v", f.ledger().Spec.Entries)
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	for range 8 {
		g, _ := f.graphOf(f.owner(), titled)
		if done, _, _ := g.Delete(t.Context()); done {
			break
		}
		f.clock.Step(2 * settle)
	}
	f.Expect(f.service.called("delete "+own.id)).To(BeZero(), "%v", f.service.changes())
}
