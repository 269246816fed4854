package graph

import (
	"context"

	"github.com/bedplate/bedplate/internal/fault"
)

// removeUnless takes away what the ledger knows and nobody wants. A resource goes when nothing comes after it any more,
// so one pass can take away a whole branch whose resources are already gone.
func (g *Graph) removeUnless(ctx context.Context, wanted map[string]bool, report *report) {
	for progress := true; progress; {
		progress = false
		for _, key := range g.ledger.keys() {
			if wanted[key] || report.has(key) {
				continue
			}
			if len(g.ledger.dependents(key)) > 0 {
				continue
			}
			condition := g.ledger.Entries[key].Condition
			if phase, refused := report.refused(condition); refused {
				report.add(condition, key, phase)
				continue
			}
			progress = g.removeEntry(ctx, key, report) || progress
		}
	}
	for _, key := range g.ledger.keys() {
		if dependents := g.ledger.dependents(key); !wanted[key] && !report.has(key) && len(dependents) > 0 {
			report.add(g.ledger.Entries[key].Condition, key, waitsUntilGone(dependents))
		}
	}
}

func (g *Graph) removeEntry(ctx context.Context, key string, report *report) (gone bool) {
	e := g.ledger.Entries[key]
	kind, ok := g.kinds[e.Kind]
	if !ok {
		report.add(e.Condition, key, Failed("this version doesn't know the kind %q that the ledger names", e.Kind))
		return false
	}
	gone, phase := true, Phase{}
	if !e.Foreign {
		gone, phase = kind.remove(ctx, g, key, e)
	}
	if gone {
		delete(g.ledger.Entries, key)
		if err := g.write(ctx); err != nil {
			gone, phase = false, phaseOf(err)
		}
	}
	if !gone {
		report.add(e.Condition, key, phase)
	}
	return gone
}

func (k *Kind[T]) kindName() string { return k.Name }

// remove deletes what is ours and says whether it is confirmed gone. When the bound one is gone, what else may carry its
// tag is looked for.
func (k *Kind[T]) remove(ctx context.Context, g *Graph, key string, e *entry) (bool, Phase) {
	if e.State == stateBound {
		object, err := k.Get(ctx, e.ID)
		if err == nil {
			return false, k.removeBound(ctx, g, object)
		}
		if !fault.IsNotFound(err) {
			return false, phaseOf(err)
		}
	}
	found, err := k.find(ctx, g, Key{Owner: g.ledger.Owner, Name: key, Token: e.Token})
	if err != nil {
		return false, phaseOf(err)
	}
	for _, object := range found {
		if err := k.delete(ctx, object); err != nil {
			return false, phaseOf(err)
		}
	}
	if len(found) > 0 {
		return false, Deleting()
	}
	phase, unsettled := g.unsettled(e)
	return !unsettled, phase
}

func (k *Kind[T]) removeBound(ctx context.Context, g *Graph, object *T) Phase {
	if tag := k.Tag(object); tag.Owner != g.ledger.Owner {
		return Failed("%s %s doesn't carry our tag any more: it isn't deleted; put the tag %q back or delete it yourself",
			k.Name, k.ID(object), g.ledger.Owner)
	}
	if err := k.delete(ctx, object); err != nil {
		return phaseOf(err)
	}
	return Deleting()
}

// delete asks once: a resource that is being deleted is left to it.
func (k *Kind[T]) delete(ctx context.Context, object *T) error {
	if k.Phase(object).State == StateDeleting {
		return nil
	}
	err := k.Delete(ctx, k.ID(object))
	if fault.IsNotFound(err) {
		return nil
	}
	return err
}
