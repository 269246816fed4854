package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// The spec names what was made for this owner, under the same key, and the owner is deleted. Rule 7: what the spec names as the user's own
// is never deleted, and is recorded at once.
func TestTheirs_areNamedUnderTheSameKey(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_ = f.round(f.owner(), graph.Create())
	f.Expect(f.ledger().Entry("lonely")).To(HaveField("State", ledgerv1.Bound))
	for range 3 {
		_ = f.round(f.owner(), graph.Use("id-1"))
		f.clock.Step(2 * settle)
	}
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	_, _ = f.deletes()
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "the spec names it as the user's own: %v", f.service.calls)
}

// groupBeside reconciles an owner with a group of ours and, under another key, id-1 as the user's own.
func (f *fixture) groupBeside(own bool) {
	f.t.Helper()
	g, kind := f.graphOf(f.owner())
	graph.Add(g, kind, f.want("group"))
	if own {
		w := f.want("own")
		w.Claim = graph.Use("id-1")
		graph.Add(g, kind, w)
	}
	_, _ = g.Reconcile(f.t.Context())
	f.clock.Step(2 * settle)
}

// Under another key, and the spec still asks for ours under the first one: it isn't changed as if it was ours.
func TestTheirs_namedUnderAnotherKeyAreNotChanged(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.groupBeside(false)
	f.groupBeside(true)
	f.size = 5
	f.groupBeside(true)
	f.Expect(f.service.called("resize id-1")).To(BeZero(), "the spec names it as the user's own: %v; %+v", f.service.calls, f.ledger().Spec.Entries)
}

// The ledger has it as the user's own for a while, beside ours. Then the spec doesn't name it any more: it is remembered as released.
func TestTheirs_namedUnderAnotherKeyAreRememberedAsReleased(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.groupBeside(false)
	f.groupBeside(true)
	f.Expect(f.ledger().Entry("own")).To(HaveField("Foreign", true))
	f.groupBeside(false)
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	_, _ = f.deletes()
	f.Expect(f.service.called("delete id-1")).To(BeZero(), "the ledger had it as the user's own: %v; %+v", f.service.calls, f.ledger().Spec)
}
