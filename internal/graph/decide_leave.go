package graph

import (
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// leave takes away what the ledger has under the key. When the one whose ID is known is gone, what else is ours is looked for and
// deleted in its turn. A key that is wanted in another way ends in the phase.
func (d decision) leave(then phases.Phase) step {
	e := d.e
	if e == nil {
		return step{verb: gone, phase: then, ends: true}
	}
	if e.Foreign {
		return d.drop(release, then)
	}
	a := d.s.attempt
	if e.State != statePending || e.ID != "" {
		a = attempt{}
	}
	switch {
	case a.running:
		return ends(phases.Waiting("the service is still at work on the %s: it is deleted afterwards", e.Kind).Because("Creating"))
	case a.known && a.err == nil:
		return d.write(bind, func(e *entry) { e.ID, e.Proven = a.id, a.id }) // pending: bound would say that it is as wanted
	case a.known && !fault.IsAmbiguous(a.err) && (fault.ClassOf(a.err) != fault.Conflict || !d.provable()), !e.Owned():
		return d.drop(forget, then)
	}
	if e.ID != "" {
		object, seen := d.sightOf(e.ID)
		if !seen {
			return step{verb: lookByID, id: e.ID, in: e.Scope}
		}
		if object != nil {
			return d.delete(*object)
		}
		if s, back := d.mayComeBack(); back {
			return s
		}
	}
	if !d.s.listed {
		return d.look()
	}
	if mine, _ := d.found(); len(mine) > 1 && !d.w.tagged {
		return ends(d.ambiguous(mine))
	} else if len(mine) > 0 {
		return d.write(adopt, func(e *entry) { e.ID, e.Proven, e.GoneAt = mine[0].id, mine[0].id, nil })
	}
	if s, must := d.settles(); must {
		return s
	}
	return d.drop(forget, then)
}

// delete asks once: a resource that is being deleted is left to it. What doesn't carry our tag isn't ours to delete.
func (d decision) delete(o thing) step {
	switch {
	case d.w.undeletable:
		return ends(phases.Failed("%s %s can't be ours, as the ledger says: correct the ledger", d.e.Kind, o.id).Because("ForeignTag"))
	case d.hasAnotherKey(o):
		return d.anotherKey(o)
	case d.w.tagged && o.tag.Owner != d.w.owner:
		return ends(phases.Failed("%s %s doesn't carry our tag any more: it isn't deleted; put the tag %q back or delete it yourself",
			d.e.Kind, o.id, d.w.owner))
	case d.e.GoneAt != nil:
		return d.write(note, func(e *entry) { e.GoneAt = nil })
	case o.phase.State == phases.StateDeleting:
		return ends(o.phase)
	case d.wasAsked(o.id):
		return ends(phases.Deleting())
	}
	return step{verb: remove, id: o.id, in: d.e.Scope}
}
