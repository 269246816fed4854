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

// A pending entry that has lost its scope: the remedy that is named is refused.
func TestScope_ofAnAttemptThatLostIt(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	f.service.after = func(call string) error {
		if call == "create "+leafKey {
			return errors.New("connection reset")
		}
		return nil
	}
	_, _ = f.rounds(1, f.usual)
	f.service.after = nil
	f.Expect(f.ledger().Entry(leafKey).State).To(Equal(ledgerv1.Pending))
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Entry(leafKey).Scope = nil })
	owner, err := f.rounds(3, f.usual)
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.why(owner)).To(ContainSubstring("ledger adopt --in"))
	err = f.engine().AdoptInto(t.Context(), f.owner(), ledgers.Resource{Key: leafKey, Kind: "leaf", ID: "id-2", Own: true, Scope: graph.Scope{netKind: "id-1"}})
	f.Expect(err).NotTo(HaveOccurred(), "that is the remedy which the condition names")
}

// A leaf lies in a net and in a site, and each net in one site. The sweep asks for each net in each site, and the service refuses what
// doesn't go together.
func TestScope_sweepLeavesOutWhatDoesNotGoTogether(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	f.within = []string{netKind, "site"}
	one, two := f.put("one"), f.put("two")
	site := map[string]string{}
	open := func() (kindShowing, *graph.Graph, []*graph.Kind[thing]) {
		nets, leaves, sites := f.kinds()
		nets.Within = []string{"site"}
		find := leaves.Find
		leaves.Find = func(ctx context.Context, key graph.Key) ([]thing, error) {
			if site[key.Scope[netKind]] != key.Scope["site"] {
				return nil, fault.Invalidf("400: net %s is at site %s", key.Scope[netKind], site[key.Scope[netKind]])
			}
			return find(ctx, key)
		}
		owner := kindShowing{f.owner(), nil}
		g, err := f.engine().New(t.Context(), owner, []string{"any"}, nets, leaves, sites)
		f.Expect(err).NotTo(HaveOccurred())
		return owner, g, []*graph.Kind[thing]{nets, leaves, sites}
	}
	for range 3 {
		_, g, k := open()
		for n, s := range map[string]*thing{"a": one, "b": two} {
			w := f.want("site/" + n)
			w.Claim = graph.Use(s.id)
			sited := graph.Add(g, k[2], w)
			net := graph.Add(g, k[0], f.want("net/"+n, sited))
			if net.ID() != "" {
				site[net.ID()] = s.id
			}
			graph.Add(g, k[1], f.leaf("leaf/"+n, net))
		}
		_, _ = g.Reconcile(t.Context())
		for _, e := range f.ledger().Spec.Entries {
			if e.Kind == netKind {
				site[e.ID] = e.Scope["site"]
			}
		}
	}
	t.Logf("%+v", f.service.keys())
	f.Expect(f.client.Delete(t.Context(), f.owner())).To(Succeed())
	var owner kindShowing
	done := false
	for range 12 {
		var g *graph.Graph
		owner, g, _ = open()
		if done, _, _ = g.Delete(t.Context()); done {
			break
		}
		f.service.finish()
		f.clock.Step(2 * settle)
	}
	f.Expect(done).To(BeTrue(), "left: %v; %s", f.service.keys(), f.why(owner))
}

// An older ledger names nothing, and the status shows a leaf without its net, which is gone with it: the deletion never ends, and the
// condition names no remedy.
func TestScope_shownNowhereNamesTheRemedy(t *testing.T) {
	t.Parallel()
	f := newPlot(t)
	_, err := f.rounds(3, f.usual)
	f.Expect(err).NotTo(HaveOccurred())
	f.update(f.ledger(), func(l *ledgerv1.Ledger) { l.Spec.Entries = nil })
	f.shown = []ledgerv1.OutsideID{{Kind: "leaf", ID: "id-2"}}
	owner, done := f.goes()
	t.Logf("done %v, left %v: %s", done, f.service.keys(), f.why(owner))
	if !done {
		f.Expect(f.why(owner)).To(ContainSubstring("ledger adopt"), "a remedy")
	}
}
