package graph

import (
	"maps"
	"slices"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/decide"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// wants reports whether the spec asks for a key.
func (g *Graph) wants(key string) bool {
	return !g.ledger.Leaving && slices.ContainsFunc(g.nodes, func(n *node) bool { return n.key == key })
}

// named are the IDs of a kind that the spec names as the user's own, as far as lookups are answered.
func (g *Graph) named(kind string) (ids []string) {
	for _, n := range g.nodes {
		if n.kind == kind && n.named != "" {
			ids = append(ids, n.named)
		}
	}
	return ids
}

// unnamed is the first key of a lookup of the kind for which neither an answer nor the ledger says what the spec names; empty if there is
// none. The key of what is deleted comes before others. What is deleted doesn't wait for a lookup that waits for that.
func (g *Graph) unnamed(kind, deleted string) (first string) {
	if g.ledger.Leaving {
		return ""
	}
	for _, n := range g.nodes {
		switch {
		case n.kind != kind || n.recorded == nil || n.recorded() || g.waitsFor(n, deleted):
		case n.key == deleted: // it can be asked at once
			return n.key
		case first == "" || n.key < first:
			first = n.key
		}
	}
	return first
}

// recorded reports whether the ledger has what a lookup names now.
func (h *Handle[T]) recorded() bool {
	e, title, in := h.entry(), h.want.Claim.decided().Title, h.fresh().Scope.Within(h.kind.Within)
	return e != nil && e.Foreign && title != "" && (e.Title == title || e.Title == "") && in != nil &&
		maps.Equal(in, e.Scope.Within(h.kind.Within))
}

// again are the nodes that have waited for a lookup, which may have been answered after that, and the nodes that come after these.
func (g *Graph) again() (nodes []*node) {
	held := map[string]bool{}
	for _, n := range g.nodes {
		waited := slices.ContainsFunc(n.after, func(r Ref) bool { return held[r.ref()] })
		if held[n.key] = waited || g.phases[n.key].Reason == decide.ReasonUnnamed; held[n.key] {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// waitsFor reports whether a node can't be looked up while something is left under a key. It comes after that key, or after something of
// ours that may still have to be made, or can't be made ready: that may need the name or the quota of what is left.
func (g *Graph) waitsFor(n *node, key string) bool {
	return slices.ContainsFunc(n.after, func(r Ref) bool {
		if r.ref() == key {
			return true
		}
		if e := g.ledger.Entries[r.ref()]; e != nil && e.State == ledgerv1.Bound { // it is read, whatever it comes after
			phase := g.phases[r.ref()]
			return !e.Foreign && (phase.State == phases.StateFailed || phase.Reason == string(fault.Quota))
		}
		before := g.nodes[g.indexOf(r)]
		return before.made && !g.isUnknown(r) || g.waitsFor(before, key)
	})
}

// isUnknown reports whether a service hasn't said in this round whether there is what a node stands for, or what that comes after.
func (g *Graph) isUnknown(r Ref) bool {
	phase, decided := g.phases[r.ref()]
	_, planned := g.exists[r.ref()]
	return !decided && !planned || phase.State == phases.StateUnknown || slices.ContainsFunc(g.nodes[g.indexOf(r)].after, g.isUnknown)
}
