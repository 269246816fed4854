package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/decide"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// remove deletes what the ledger has and the spec doesn't ask for.
func (g *Graph) remove(ctx context.Context, report *report) {
	if left := g.unwanted(); !g.ledger.Leaving && len(left) > 0 {
		if err := g.ledger.Current(ctx); err != nil {
			report.add(ReadyCondition, left[0], inside, phases.Of(err))
			return
		}
	}
	circle := g.inReverse(func(key string, holders []string) {
		if n := g.leftover(key); len(holders) == 0 {
			g.reconcile(ctx, n, report)
		} else {
			report.add(n.condition, key, n.service, g.waitsUntilGone(holders))
		}
	})
	for _, key := range circle {
		report.add(g.ledger.Entries[key].Condition, key, inside, inACircle(key, g.holders(key)))
	}
}

// inReverse visits each key that the spec doesn't ask for, also what a visit finds, when all that comes after it was visited. What of that
// is still there are its holders. So one pass can remove a whole branch whose resources are already gone. If each of those that are left
// is held by another one, they are returned.
func (g *Graph) inReverse(visit func(key string, holders []string)) (circle []string) {
	visited := map[string]bool{}
	for {
		left := slices.DeleteFunc(g.unwanted(), func(key string) bool { return visited[key] })
		i := slices.IndexFunc(left, func(key string) bool {
			return !slices.ContainsFunc(g.holders(key), func(h string) bool { return slices.Contains(left, h) })
		})
		if i < 0 {
			return left
		}
		visit(left[i], g.holders(left[i]))
		visited[left[i]] = g.ledger.Entries[left[i]] != nil
	}
}

func inACircle(key string, holders []string) phases.Phase {
	return phases.Failed("the ledger has a dependency cycle between %s and %s: correct the ledger", strings.Join(holders, ", "), key).Because("Circle")
}

// unwanted are the keys of the ledger that are neither wanted nor kept.
func (g *Graph) unwanted() []string {
	return slices.DeleteFunc(g.ledger.Keys(), func(key string) bool {
		_, kept := g.keeps(key)
		return kept && !g.ledger.Leaving || g.wants(key)
	})
}

// Keep leaves all resources whose keys begin with a prefix as the ledger has them, unless they are wanted: which of them the spec
// asks for can't be known now, such as while the zones of a region can't be looked up. Why is for a plan.
func (g *Graph) Keep(prefix, why string) {
	g.kept[prefix] = why
}

func (g *Graph) keeps(key string) (why string, kept bool) {
	for prefix, why := range g.kept {
		if strings.HasPrefix(key, prefix) {
			return why, true
		}
	}
	return "", false
}

// holders are the keys that have to be gone before one. When everything is deleted, the user's own resources stay in the ledger until
// the end, and hold nothing up: what the sweep searches for may lie in them, such as in a site, and what status shows of them isn't
// unproven.
func (g *Graph) holders(key string) []string {
	switch {
	case !g.ledger.Leaving:
		return g.ledger.Dependents(key)
	case g.ledger.Entries[key].Foreign:
		holders := g.ledger.Owned()
		for _, o := range g.unproven {
			holders = append(holders, o.String())
		}
		return holders
	}
	var holders []string
	seen, next := map[string]bool{key: true}, g.ledger.Dependents(key)
	for len(next) > 0 {
		other := next[0]
		next = next[1:]
		switch {
		case seen[other]:
		case g.ledger.Entries[other].Foreign: // what comes after that comes after this one, too
			next = append(next, g.ledger.Dependents(other)...)
		default:
			holders = append(holders, other)
		}
		seen[other] = true
	}
	return holders
}

// sweep is the end of a deletion. Before the last entry of ours leaves the ledger, the ledger has to name whatever else carries the
// owner's ID: one that was restored from an older backup lacks what was created since.
func (g *Graph) sweep(ctx context.Context) error {
	if !g.ledger.Leaving || len(g.ledger.Owned()) > 0 {
		return nil
	}
	return g.look(ctx)
}

// findUsers enters into the ledger whatever else carries the owner's ID, if something couldn't be deleted because it is in use: an older
// ledger may lack what uses it, and the sweep comes only when that is gone. It waits until all services answer, as the sweep does.
func (g *Graph) findUsers(ctx context.Context, report *report) error {
	if !g.inUse || len(report.stopped) > 0 {
		return nil
	}
	before := maps.Clone(g.ledger.Entries)
	if err := g.look(ctx); err != nil {
		return err
	}
	for key, e := range g.ledger.Entries { // a list may show what is gone, poll by poll
		if before[key] == e {
			continue
		}
		if _, _, found, err := g.tagOf(ctx, ledgerv1.OutsideID{Kind: e.Kind, ID: e.ID, Scope: e.Scope}); err == nil && !found {
			delete(g.ledger.Entries, key)
		}
	}
	if maps.Equal(before, g.ledger.Entries) {
		return nil
	}
	return g.ledger.Write(ctx)
}

// look for whatever carries the owner's ID and isn't in the ledger. If nothing says that there ever was something, credentials that
// are refused everywhere don't keep the owner.
func (g *Graph) look(ctx context.Context) error {
	var errs []error
	for again := true; again; again = len(g.strays) > 0 { // something else may lie in what was found
		maps.Copy(g.ledger.Entries, g.strays)
		clear(g.strays)
		errs = nil
		for _, name := range slices.Sorted(maps.Keys(g.kinds)) {
			if err := g.kinds[name].search(ctx, g); err != nil {
				errs = append(errs, fmt.Errorf("look for whatever else was made for this object: %w", err))
			}
		}
	}
	refused := func(err error) bool { return fault.ClassOf(err) == fault.Credentials }
	if len(g.searched) == 0 && !g.ledger.Stored.Owns() && len(g.unproven) == 0 {
		errs = slices.DeleteFunc(errs, refused)
	}
	return errors.Join(errs...)
}

// search finds what carries the owner's ID, in every scope that it may lie in. A list may be wrong once.
func (k *Kind[T]) search(ctx context.Context, g *Graph) error {
	if k.Tag == nil || k.Find == nil {
		return nil
	}
	var errs []error
	for _, in := range k.scopes(g) {
		for range 2 - g.searched[searchOf(k.Name, in)] {
			if err := g.ask(k.Service, func() error { return (&round[T]{Handle: handleOf(g, k, "")}).find(ctx, "", in) }); err != nil {
				errs = append(errs, err)
				break
			}
		}
	}
	return errors.Join(errs...)
}

func searchOf(kind string, in Scope) string { return fmt.Sprint(kind, in) }

// noteStrays remembers which of the resources that a lookup has found carry the owner's ID and aren't in the ledger. An entry under
// their key that is the user's own stays, and one that was refused isn't theirs.
func (g *Graph) noteStrays(kind string, in Scope, found []decide.Thing) {
	g.searched[searchOf(kind, in)]++
	for _, o := range found {
		key := cmp.Or(o.Tag.Key, "stray/"+o.ID) // its tag has lost its key
		if known := g.ledger.Entries[key]; known != nil && known.Foreign {
			key = "stray/" + o.ID
		}
		known := g.ledger.Entries[key]
		if o.Tag.Owner == g.ledger.OwnerID && !slices.Contains(g.gone[searchOf(kind, in)], o.ID) && !g.ledger.IsYours(kind, o.ID) && (known == nil || !known.Owned()) {
			g.strays[key] = tagged(kind, o.ID, "", in)
		}
	}
}

// leftover is what the ledger has under a key that the spec doesn't ask for.
func (g *Graph) leftover(key string) *node {
	e := g.ledger.Entries[key]
	if kind, known := g.kinds[e.Kind]; known {
		return kind.leftover(g, key)
	}
	why := phases.Failed("this version doesn't know the kind %q that the ledger names: go back to the version that wrote it", e.Kind)
	return &node{
		key: key, condition: e.Condition, service: inside,
		reconcile: func(context.Context, string) phases.Phase { return why },
		plan:      func(context.Context, []string) []Step { return []Step{g.stepOf(key, ActionFail, why.Message)} },
	}
}
