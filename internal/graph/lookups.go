package graph

import (
	"maps"
	"slices"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/decide"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// lookup is a claim that names the user's own by a lookup.
type lookup struct {
	node
	kind  string
	claim Claim
	// within names the parts of the scope that it is looked up in, which is nil if it isn't known.
	within []string
	scope  func() Scope
}

// unnamed is the first key of a lookup of the kind for which neither an answer nor the ledger says what the spec names; empty if there is
// none. The key of what is deleted comes before others. What is deleted doesn't wait for a lookup that waits for that.
func (g *Graph) unnamed(kind, deleted string) (first string) {
	if g.deleting {
		return ""
	}
	for key, l := range g.lookups {
		switch {
		case l.kind != kind || g.hasNamed(key, l) || g.waitsFor(l, deleted):
		case key == deleted: // it can be asked at once
			return key
		case first == "" || key < first:
			first = key
		}
	}
	return first
}

// hasNamed reports whether the ledger has what a lookup names now.
func (g *Graph) hasNamed(key string, l lookup) bool {
	e, title, in := g.ledger.Entries[key], l.claim.decided().Title, l.scope()
	return e != nil && e.Foreign && title != "" && (e.Title == title || e.Title == "") && in != nil && maps.Equal(in, e.Scope.Within(l.within))
}

// again are the nodes that have waited for a lookup, which may have been answered after that, and the nodes that come after these.
func (g *Graph) again() (nodes []node) {
	held := map[string]bool{}
	for _, n := range g.nodes {
		waited := slices.ContainsFunc(n.comesAfter(), func(r Ref) bool { return held[r.ref()] })
		if held[n.ref()] = waited || g.phases[n.ref()].Reason == decide.ReasonUnnamed; held[n.ref()] {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// waitsFor reports whether a node can't be looked up while something is left under a key. It comes after that key, or after something of
// ours that may still have to be made, or can't be made ready: that may need the name or the quota of what is left.
func (g *Graph) waitsFor(n node, key string) bool {
	return slices.ContainsFunc(n.comesAfter(), func(r Ref) bool {
		if r.ref() == key {
			return true
		}
		if e := g.ledger.Entries[r.ref()]; e != nil && e.State == ledgerv1.Bound { // it is read, whatever it comes after
			phase := g.phases[r.ref()]
			return !e.Foreign && (phase.State == phases.StateFailed || phase.Reason == string(fault.Quota))
		}
		before := g.nodes[g.indexOf(r)]
		return before.isMade() && !g.isUnknown(r) || g.waitsFor(before, key)
	})
}

// isUnknown reports whether a service hasn't said in this round whether there is what a node stands for, or what that comes after.
func (g *Graph) isUnknown(r Ref) bool {
	phase, decided := g.phases[r.ref()]
	_, planned := g.exists[r.ref()]
	return !decided && !planned || phase.State == phases.StateUnknown || slices.ContainsFunc(g.nodes[g.indexOf(r)].comesAfter(), g.isUnknown)
}
