package graph

import (
	"context"
	"time"

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
			if phase, refused := report.stop(condition); refused {
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
			gone, phase = false, PhaseOf(err)
		}
	}
	if !gone {
		report.add(e.Condition, key, phase)
	}
	return gone
}

func (k *Kind[T]) kindName() string { return k.Name }

// remove deletes what is ours and says whether it is confirmed gone. When the one whose ID is known is gone, what else is
// ours is looked for and deleted in its turn.
func (k *Kind[T]) remove(ctx context.Context, g *Graph, key string, e *entry) (bool, Phase) {
	if a, known := g.engine.Creates.answer(e); known {
		if a.running {
			return false, Waiting("the service is still at work on the %s: it is deleted afterwards", k.Name).Because("Creating")
		}
		k.heed(e, a)
	}
	if e.ID != "" {
		object, err := k.Get(ctx, e.ID)
		if err == nil {
			return false, k.removeBound(ctx, g, e, object)
		}
		if !fault.IsNotFound(err) {
			return false, PhaseOf(err)
		}
		if gone, phase := k.stayedAway(ctx, g, e); !gone {
			return false, phase
		}
	}
	found, err := k.find(ctx, g, key, e)
	if err != nil {
		return false, PhaseOf(err)
	}
	if len(found.ours) > 1 && k.Tag == nil {
		return false, k.ambiguous(found.ours, e.Title)
	}
	if len(found.ours) > 0 {
		e.ID, e.GoneAt = k.ID(found.ours[0]), nil
		if err := g.write(ctx); err != nil {
			return false, PhaseOf(err)
		}
		return false, k.removeBound(ctx, g, e, found.ours[0])
	}
	phase, unsettled := g.unsettled(e)
	return !unsettled, phase
}

// heed takes from the answer to an attempt what deletion can use; an attempt whose outcome is unknown stays one.
func (k *Kind[T]) heed(e *entry, a answer) {
	switch object, _ := a.object.(*T); {
	case a.err == nil && k.ID(object) != "":
		e.ID, e.At = k.ID(object), nil
	case a.err != nil && !fault.IsAmbiguous(a.err):
		e.State, e.At = stateRefused, nil
	}
}

func (k *Kind[T]) removeBound(ctx context.Context, g *Graph, e *entry, object *T) Phase {
	if k.Tag != nil && k.Tag(object).Owner != g.ledger.Owner {
		return Failed("%s %s doesn't carry our tag any more: it isn't deleted; put the tag %q back or delete it yourself",
			k.Name, k.ID(object), g.ledger.Owner)
	}
	if err := g.cameBack(ctx, e); err != nil {
		return PhaseOf(err)
	}
	if phase := k.Phase(object); phase.State == StateDeleting {
		return phase
	}
	if err := k.delete(ctx, object); err != nil {
		return PhaseOf(err)
	}
	return Deleting()
}

// stayedAway reports whether a bound resource that isn't there has been away for long enough to count as gone.
func (k *Kind[T]) stayedAway(ctx context.Context, g *Graph, e *entry) (bool, Phase) {
	if k.GoneAfter == 0 {
		return true, Phase{}
	}
	if e.GoneAt == nil {
		e.GoneAt = g.now()
		if err := g.write(ctx); err != nil {
			return false, PhaseOf(err)
		}
	}
	until := e.GoneAt.Add(k.GoneAfter)
	phase := Waiting("%s %s is gone, but the service may bring it back: until %s it is watched",
		k.Name, e.ID, until.UTC().Format(time.TimeOnly+" MST"))
	return !g.engine.Clock.Now().Before(until), phase.Because("StayingAway")
}

// cameBack forgets that a resource was gone.
func (g *Graph) cameBack(ctx context.Context, e *entry) error {
	if e.GoneAt == nil {
		return nil
	}
	e.GoneAt = nil
	return g.write(ctx)
}

// delete asks once: a resource that is being deleted is left to it.
func (k *Kind[T]) delete(ctx context.Context, object *T) error {
	if k.Phase(object).State == StateDeleting {
		return nil
	}
	err := k.Delete(ctx, k.ID(object))
	switch fault.ClassOf(err) {
	case fault.NotFound:
		return nil
	case fault.Conflict: // something else is being done with it
		return &fault.Error{Class: fault.Busy, Err: err}
	}
	return err
}
