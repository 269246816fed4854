package graph_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/creates"
)

func (f *fixture) namesUntagged(ours bool) {
	f.t.Helper()
	g, kind := f.graphOf(f.owner(), untagged)
	w := f.want("group")
	if !ours {
		w = f.want("own")
		w.Claim, w.Update = graph.Use("id-1"), nil
	}
	graph.Add(g, kind, w)
	_, _ = g.Reconcile(f.t.Context())
	f.clock.Step(2 * settle)
}

func (f *fixture) deletesUntagged() (done bool) {
	f.t.Helper()
	f.Expect(f.client.Delete(f.t.Context(), f.owner())).To(Succeed())
	for range 8 {
		g, _ := f.graphOf(f.owner(), untagged)
		if done, _, _ = g.Delete(f.t.Context()); done {
			break
		}
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	return done
}

// Without tags, as TestOurs_stayOursWhenTheSpecNamesThem: made by an unanswered create, under another key. Its generated name proves that it is ours.
func TestOurs_withoutATagAreNamedBeforeTheyAreFound(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	lostAnswer(f, "create group")
	f.namesUntagged(true)
	f.service.after = nil
	for range 3 {
		f.namesUntagged(false)
	}
	f.Expect(f.deletesUntagged()).To(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty(), "%v", f.service.changes())
}

// The create is still running; its answer says later that it has made what the spec names.
func TestOurs_withoutATagAreNamedWhileTheyAreMade(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.pool = &creates.Pool{Limit: 4}
	made, answer := make(chan struct{}), make(chan struct{})
	f.service.after = func(call string) error {
		if call == "create group" {
			close(made)
		}
		return nil
	}
	f.namesSlowly(answer)
	<-made
	f.service.after = nil
	f.namesUntagged(false)
	close(answer)
	f.Eventually(func() bool { // the answer is known
		f.namesUntagged(false)
		e := f.ledger().Entry("group")
		return e == nil || e.ID != ""
	}).Should(BeTrue())
	f.namesUntagged(false)
	f.Expect(f.deletesUntagged()).To(BeTrue())
	f.Expect(f.service.keys()).To(BeEmpty(), "%v", f.service.changes())
}

// namesSlowly wants a group, whose create is answered later than it is done.
func (f *fixture) namesSlowly(answer <-chan struct{}) {
	f.t.Helper()
	g, kind := f.graphOf(f.owner(), untagged)
	w := f.want("group")
	create := w.Create
	w.Create = func(ctx context.Context, key graph.Key) (graph.Call[thing], error) {
		call, err := create(ctx, key)
		return func(ctx context.Context) (*thing, error) {
			made, err := call(ctx)
			<-answer
			return made, err
		}, err
	}
	graph.Add(g, kind, w)
	_, _ = g.Reconcile(f.t.Context())
}
