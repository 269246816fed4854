package graph

import (
	"maps"
	"slices"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
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
// none. What is deleted under a key doesn't wait for a lookup that waits for that.
func (g *Graph) unnamed(kind, deleted string) (first string) {
	if g.deleting {
		return ""
	}
	for key, l := range g.lookups {
		if l.kind == kind && (first == "" || key < first) && !g.hasNamed(key, l) && !g.waitsFor(l, deleted) {
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

// waitsFor reports whether a node can't be looked up while something is left under a key. It comes after that key, or after something that
// may still have to be made, which may need the name or the quota of what is left.
func (g *Graph) waitsFor(n node, key string) bool {
	return slices.ContainsFunc(n.comesAfter(), func(r Ref) bool {
		if r.ref() == key {
			return true
		}
		if e := g.ledger.Entries[r.ref()]; e != nil && e.State == ledgerv1.Bound { // it is read, whatever it comes after
			return false
		}
		before := g.nodes[g.indexOf(r)]
		return before.isMade() || g.waitsFor(before, key)
	})
}
