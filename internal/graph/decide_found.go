package graph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// sightOf is how a resource was seen last in this round: nil where it is proven that there is none. A list is newer than a look
// by ID.
func (d decision) sightOf(id string) (_ *thing, seen bool) {
	for i := range d.s.list {
		if d.s.list[i].id == id {
			return &d.s.list[i], true
		}
	}
	return d.s.object, id != "" && d.s.id == id
}

// provable: that something is ours can be told by its tag, or by a name that holds the owner's ID.
func (d decision) provable() bool { return d.w.tagged || d.e.Title == "" }

// look by tag, and by the name that the attempt had or the spec gives.
func (d decision) look() step { return step{verb: lookByName, title: d.e.Title, in: d.e.Scope} }

func (d decision) wasAsked(id string) bool { return slices.Contains(d.s.asked, id) }

// mine goes by the tag. Where there is no room for one, a name that the Kind has made holds the owner's ID and so proves as much;
// a name that the user gave proves it only if we have seen it absent and then tried to make it.
func (d decision) mine(o thing) bool {
	if !d.w.tagged {
		return d.e.Title == "" || d.e.State == statePending
	}
	return o.tag.Owner == d.w.owner && o.tag.Key == d.w.key
}

// found sorts what was found by whose it is. Of ours the one to keep comes first: one that stays, then one of this attempt, then
// by ID, so that every reconcile chooses the same one. Others are the user's, with the name that the claim gives; there are none
// without such a name.
func (d decision) found() (mine, others []thing) {
	for _, o := range d.s.list {
		switch {
		case d.mine(o):
			mine = append(mine, o)
		case d.e.Title != "" && o.phase.State != phases.StateDeleting && (!d.w.tagged || o.tag.Owner != d.w.owner): // or it is ours, under another key
			others = append(others, o)
		}
	}
	later := func(o thing) int {
		switch {
		case o.phase.State == phases.StateDeleting:
			return 2
		case d.w.tagged && o.tag.Token != d.e.Token:
			return 1
		}
		return 0
	}
	slices.SortFunc(mine, func(a, b thing) int {
		return cmp.Or(cmp.Compare(later(a), later(b)), cmp.Compare(a.id, b.id))
	})
	return mine, others
}

// inTheWay is for a resource of the name that ours is to have.
func (d decision) inTheWay(other thing) phases.Phase {
	return phases.Failed("%s %s has the name %q and wasn't made for this object: choose another name, or have the spec use it as your own",
		d.w.fresh.Kind, other.id, d.w.claim.title).Because(string(fault.Conflict))
}

// unproven is for what spec or status show and the ledger lacks, if nothing says whose it is.
func unproven(what string) phases.Phase {
	return phases.Failed("spec or status show %s, the ledger lacks it, and it has no tag that says whose it is: write it into the ledger with "+
		"`bedplate ledger adopt`, or with its flag --yours if it isn't to be deleted", what).Because("Unproven")
}

func (d decision) ambiguous(found []thing) phases.Phase {
	var ids []string
	for _, o := range found {
		ids = append(ids, o.id)
	}
	return phases.Failed("several %ss are named %q (%s), and nothing says which one is meant: rename or delete the others",
		d.e.Kind, d.e.Title, strings.Join(ids, ", ")).Because("Ambiguous")
}
