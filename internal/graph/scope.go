package graph

import (
	"fmt"
	"maps"
	"slices"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// scopeOf is what the resource under a key lies in: as the ledger says, the owner shows, or follows from the rest of the ledger. It is
// nil if nothing says so.
func (k *Kind[T]) scopeOf(g *Graph, key string) Scope {
	e := g.ledger.Entries[key]
	if e == nil {
		return nil
	}
	if in := e.Scope.Within(k.Within); in != nil {
		return in
	}
	for _, o := range g.owner.OutsideIDs() {
		if in := k.shown(o); in != nil && o.Kind == k.Name && o.ID == e.ID {
			return in
		}
	}
	if in := k.around(g, key, e.After); in != nil {
		return in
	}
	if all := k.scopes(g); len(all) == 1 {
		return all[0]
	}
	return nil
}

// shown is the scope of what an owner shows; nil if nothing says it.
func (k *Kind[T]) shown(o ledgerv1.OutsideID) Scope {
	in := o.Scope
	if in.Within(k.Within) == nil {
		in = k.outer("")
	}
	return in.Within(k.Within)
}

// around is the scope of what comes after others: these, and what they lie in. It is nil if that isn't the whole of it.
func (k *Kind[T]) around(g *Graph, key string, after []string) Scope {
	all := Scope{}
	for _, before := range after {
		if e := g.ledger.Entries[before]; e != nil {
			maps.Copy(all, within(e))
		}
	}
	maps.Copy(all, k.outer(key))
	return all.Within(k.Within)
}

// outer is what the owner doesn't have in its own ledger.
func (k *Kind[T]) outer(key string) Scope {
	if k.Scope == nil {
		return nil
	}
	return k.Scope(key)
}

// within is the scope of what lies in a resource.
func within(e *entry) Scope {
	in := Scope{e.Kind: e.ID}
	maps.Copy(in, e.Scope)
	return in
}

// scopes are all that something of this owner's may lie in, by what the ledger names, what that lies in, and what the owner shows. A
// kind that lies in nothing has one, which is empty.
func (k *Kind[T]) scopes(g *Graph) (all []Scope) {
	found := map[string]Scope{}
	add := func(in Scope) {
		if in = in.Within(k.Within); in != nil {
			found[fmt.Sprint(in)] = in
		}
	}
	add(k.outer(""))
	for _, entries := range []map[string]*entry{ledgerFrom(g.ledger.stored).Entries, g.ledger.Entries} {
		for _, e := range entries {
			add(within(e))
		}
	}
	for _, o := range g.owner.OutsideIDs() {
		add(o.Scope)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[name])
	}
	return all
}
