package graph

import (
	"maps"
	"slices"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// scopeOf is what the resource under a key lies in, as the ledger has it or the owner shows it; nil if neither does. What the resource
// comes after proves nothing: that may have been replaced.
func (k *Kind[T]) scopeOf(g *Graph, key string) Scope {
	e := g.ledger.Entries[key]
	if e == nil {
		return nil
	}
	if in := e.Scope.Within(k.Within); in != nil {
		return in
	}
	for _, o := range g.owner.OutsideIDs() {
		if in := o.Scope.Within(k.Within); in != nil && o.Kind == k.Name && o.ID == e.ID {
			return in
		}
	}
	return nil
}

// shown is the scope of what an owner shows; nil if it isn't known.
func (k *Kind[T]) shown(o ledgerv1.OutsideID) Scope {
	in := o.Scope
	if in.Within(k.Within) == nil {
		in = k.outer("")
	}
	return in.Within(k.Within)
}

// around is the scope that follows from what a resource comes after: these, and what they lie in. Of one kind, what it comes after
// directly counts, and of several the first. It is nil if that isn't a complete scope.
func (k *Kind[T]) around(g *Graph, key string, after []string) Scope {
	all, direct := Scope{}, Scope{}
	for _, before := range slices.Backward(after) {
		if e := g.ledger.Entries[before]; e != nil {
			maps.Copy(all, e.Scope)
			direct[e.Kind] = e.ID
		}
	}
	maps.Copy(all, direct)
	maps.Copy(all, k.outer(key))
	return all.Within(k.Within)
}

// outer is the part of the scope that isn't in the owner's own ledger.
func (k *Kind[T]) outer(key string) Scope {
	if k.Scope == nil {
		return nil
	}
	return k.Scope(key)
}

// scopes are all scopes that a resource of this owner may lie in, from what the ledger names, what that lies in, and what the owner shows.
// A kind that lies in nothing has one empty scope; with several parts, all combinations count that aren't known to be impossible.
func (k *Kind[T]) scopes(g *Graph) []Scope {
	known := map[string]map[string]bool{}
	add := func(in Scope) {
		for kind, id := range in {
			if known[kind] == nil {
				known[kind] = map[string]bool{}
			}
			known[kind][id] = id != ""
		}
	}
	type part struct{ kind, id string }
	lies := map[part]Scope{}
	note := func(kind, id string, in Scope) {
		add(in)
		add(Scope{kind: id})
		lies[part{kind, id}] = in
	}
	fits := func(in Scope) bool {
		for kind, id := range in {
			for outer, is := range lies[part{kind, id}] {
				if other := in[outer]; other != "" && other != is {
					return false
				}
			}
		}
		return true
	}
	add(k.outer(""))
	for _, entries := range []map[string]*ledgerv1.Entry{ledgers.EntriesOf(g.ledger.Stored), g.ledger.Entries} {
		for _, e := range entries {
			note(e.Kind, e.ID, e.Scope)
		}
	}
	for _, o := range g.owner.OutsideIDs() {
		note(o.Kind, o.ID, o.Scope)
	}
	all := []Scope{{}}
	for _, kind := range k.Within {
		var longer []Scope
		for _, in := range all {
			for _, id := range slices.Sorted(maps.Keys(known[kind])) {
				if known[kind][id] {
					more := maps.Clone(in)
					if more[kind] = id; fits(more) {
						longer = append(longer, more)
					}
				}
			}
		}
		all = longer
	}
	return all
}
