package graph_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
)

// Without tags: the user's own of the name is being deleted, so another one is created, and isn't answered: nothing was made. Then the user's own is
// restored. It wasn't absent before the attempt, so it isn't what that made.
func TestTheirs_withoutATagComeBackAfterAnAttempt(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	own := f.put("name")
	own.deleting = true
	round := func() {
		g, kind := f.graphOf(f.owner(), titled)
		w := f.want("group")
		w.Claim, w.Update = graph.UseOrCreate("name"), nil
		w.Create = func(context.Context, graph.Key) (graph.Call[thing], error) {
			return func(context.Context) (*thing, error) { return nil, errors.New("connection reset") }, nil
		}
		graph.Add(g, kind, w)
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(settle / 4)
	}
	round()
	f.Expect(f.ledger().Entry("group")).To(HaveField("Token", Not(BeEmpty())))
	own.deleting = false // such as a workspace, which can be restored for some days
	for range 10 {
		round()
	}
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
