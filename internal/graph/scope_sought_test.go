package graph_test

import (
	"context"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// Without tags: the ledger has lost where an unanswered create was attempted, so it can't be searched for. What the spec names as the user's own may be
// what it made: it isn't used before that is known.
func TestScope_ofAnAttemptThatIsSoughtAndLostIt(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	in := map[string]string{}
	round := func(ours, deleted bool) (owner *bmmv1.NvidiaBMMCluster, done bool) {
		owner = f.owner()
		nets, leaves := f.service.kind(), f.service.kind()
		nets.Name = "net"
		untagged(leaves)
		leaves.Name, leaves.Within = "leaf", []string{"net"}
		find := leaves.Find
		leaves.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
			all, err := find(ctx, key)
			return slices.DeleteFunc(all, func(t thing) bool { return in[t.id] != key.Scope["net"] }), err
		}
		g, err := f.engine().New(t.Context(), owner, []string{"any"}, nets, leaves)
		f.Expect(err).NotTo(HaveOccurred())
		if deleted {
			done, _, _ = g.Delete(t.Context())
			return owner, done
		}
		net := graph.Add(g, nets, f.want("net"))
		w := f.want("leaf", net)
		create := w.Create
		w.Create = func(ctx context.Context, key graph.Key) (graph.Call[thing], error) {
			in["id-2"] = key.Scope["net"]
			return create(ctx, key)
		}
		if !ours {
			w = f.want("own", net)
			w.Claim, w.Update = graph.Use("id-2"), nil
		}
		graph.Add(g, leaves, w)
		_, _ = g.Reconcile(t.Context())
		f.clock.Step(2 * settle)
		return owner, false
	}
	lostAnswer(f, "create leaf")
	round(true, false)
	f.service.after = nil
	f.Expect(f.ledger().Entry("leaf")).To(And(HaveField("State", ledgerv1.Pending), HaveField("Scope", graph.Scope{"net": "id-1"})))
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry("leaf").Scope = nil }) // another client
	for range 3 {
		round(false, false)
	}
	f.Expect(f.ledger().Entry("own")).To(BeNil(), "nothing says that it is the user's own: %+v", f.ledger().Entry("own"))
}
