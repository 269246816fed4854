package decide

import (
	"slices"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// leave deletes what the ledger has under the key. When the resource with the known ID is gone, other resources of ours are
// searched for and deleted, too. A key that is still wanted under another claim ends in the given phase.
func (d decision) leave(then phases.Phase) Step {
	e := d.e
	if e == nil {
		return Step{Verb: Gone, Phase: then, Ends: true}
	}
	switch {
	case e.Foreign || d.isTheirs(e.ID):
		return d.drop(Release, then)
	case slices.Contains(d.w.Named, e.ID):
		return d.claimsOurs(e.ID)
	}
	a := d.s.Attempt
	if e.State != ledgerv1.Pending || e.ID != "" {
		a = Attempt{}
	}
	switch {
	case a.Running:
		return ends(phases.Waiting("the service is still creating the %s, which is deleted afterwards", e.Kind).Because("Creating"))
	case a.Known && a.Err == nil && d.isInUse(a.ID):
		return d.drop(Release, then)
	case a.Known && a.Err == nil:
		return d.write(Bind, func(e *ledgerv1.Entry) { e.ID, e.Proven = a.ID, a.ID }) // pending: bound would mean that it is as wanted
	case a.Known && !fault.IsAmbiguous(a.Err) && (fault.ClassOf(a.Err) != fault.Conflict || !d.provable()), !e.Owned():
		return d.drop(Forget, then)
	}
	if e.ID != "" {
		object, seen := d.sightOf(e.ID)
		if !seen {
			return d.lookAt(e.ID)
		}
		if object != nil {
			return d.delete(*object)
		}
		if s, back := d.mayComeBack(); back {
			return s
		}
	}
	if !d.s.Listed {
		return d.look()
	}
	if mine, _ := d.found(); len(mine) > 1 && !d.w.Tagged {
		return ends(d.ambiguous(mine))
	} else if len(mine) > 0 {
		// Where the service may bring it back, it isn't in Gone, so that this read would be followed by the one before for ever.
		if d.s.ID != mine[0].ID && (e.ID == "" || d.w.GoneAfter == 0) {
			return d.lookAt(mine[0].ID)
		}
		return d.write(Adopt, func(e *ledgerv1.Entry) { e.ID, e.Proven, e.GoneAt = mine[0].ID, mine[0].ID, nil })
	}
	if s, must := d.settles(); must {
		return s
	}
	if !d.s.Twice { // a list may be wrong once
		return d.look()
	}
	return d.drop(Forget, then)
}

// delete requests a deletion once: it isn't repeated while the resource is being deleted. What doesn't carry our tag
// isn't ours to delete.
func (d decision) delete(o Thing) Step {
	switch {
	case d.w.Undeletable:
		return ends(phases.Failed("%s %s can't have been created for this object, although the ledger says so: correct the ledger", d.e.Kind, o.ID).Because("ForeignTag"))
	case d.hasAnotherKey(o):
		return d.anotherKey(o)
	case d.w.Tagged && o.Tag.Owner != "" && o.Tag.Owner != d.w.Owner:
		return ends(phases.Failed("%s %s carries the tag of another object, %q: it isn't deleted; correct this object's ledger",
			d.e.Kind, o.ID, o.Tag.Owner).Because("ForeignTag"))
	case d.w.Tagged && o.Tag.Owner == "" && d.e.Untagged != o.ID:
		return ends(phases.Failed("%s %s doesn't carry our tag any more: it isn't deleted; put the tag %q back or delete it yourself",
			d.e.Kind, o.ID, d.w.Owner))
	case d.e.GoneAt != nil:
		return d.write(Note, func(e *ledgerv1.Entry) { e.GoneAt = nil })
	case o.Phase.State == phases.StateDeleting:
		return ends(o.Phase)
	case slices.Contains(d.s.Asked, o.ID):
		return ends(phases.Deleting())
	case d.w.Unnamed == d.w.Key && d.w.Before == "" && d.w.Fresh.Scope.Within(d.w.Within) != nil:
		return Step{Verb: LookUp, In: d.w.Fresh.Scope}
	}
	return d.remove(o.ID)
}

// remove what is ours, unless the spec names it as the user's own, or may do so by a lookup that isn't answered.
func (d decision) remove(id string) Step {
	switch {
	case slices.Contains(d.w.Named, id):
		return d.claimsOurs(id)
	case d.w.Unnamed != "":
		return ends(phases.Waiting("%s %s isn't deleted before it is known what the spec names as your own under the key %q", d.e.Kind, id,
			d.w.Unnamed).Because(ReasonUnnamed))
	}
	return Step{Verb: Remove, ID: id, In: d.e.Scope}
}
