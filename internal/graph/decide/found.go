package decide

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// sightOf is how a resource was last seen in this round: nil if it is proven that there is none. A list is newer than a get by
// ID.
func (d decision) sightOf(id string) (_ *Thing, seen bool) {
	if slices.Contains(d.s.Gone, id) {
		return nil, true
	}
	for i := range d.s.List {
		if d.s.List[i].ID == id {
			return &d.s.List[i], true
		}
	}
	return d.s.Object, id != "" && d.s.ID == id
}

// provable: a tag, or a name that holds the owner's ID, can prove that something is ours.
func (d decision) provable() bool { return d.w.Tagged || d.e.Title == "" }

func (d decision) lookAt(id string) Step { return Step{Verb: LookByID, ID: id, In: d.e.Scope} }

// look by tag, and by the name that the attempt had or the spec gives.
func (d decision) look() Step { return Step{Verb: LookByName, Title: d.e.Title, In: d.e.Scope} }

// mine compares the tag. For an API without tags, a name that the Kind generated holds the owner's ID and so proves as much; a
// name from the user proves it only if we have seen it absent and then tried to create it, and don't know yet what that has made.
// What the ledger has as the user's own isn't ours, whatever it carries.
func (d decision) mine(o Thing) bool {
	switch {
	case d.isTheirs(o.ID):
		return false
	case !d.w.Tagged:
		tried := d.e.State == ledgerv1.Pending && (d.e.ID == "" || d.e.ID == o.ID)
		return (d.e.Title == "" || tried) && d.keyOf(o.ID) == ""
	}
	return o.Tag.Owner == d.w.Owner && o.Tag.Key == d.w.Key
}

// found splits what was found into ours and others. Of ours the one to keep comes first: one that isn't being deleted, then one
// of this attempt, then by ID, so that every reconcile chooses the same one. Others are the user's, with the claimed name;
// without such a name there are none.
func (d decision) found() (mine, others []Thing) {
	for _, o := range d.s.List {
		switch {
		case slices.Contains(d.s.Gone, o.ID):
		case d.mine(o):
			mine = append(mine, o)
		case d.e.Title == "" || o.Phase.State == phases.StateDeleting:
		case !d.w.Tagged || o.Tag.Owner != d.w.Owner || d.isTheirs(o.ID): // else it is ours, under another key
			others = append(others, o)
		}
	}
	later := func(o Thing) int {
		switch {
		case o.Phase.State == phases.StateDeleting:
			return 2
		case d.w.Tagged && o.Tag.Token != d.e.Token:
			return 1
		}
		return 0
	}
	slices.SortFunc(mine, func(a, b Thing) int {
		return cmp.Or(cmp.Compare(later(a), later(b)), cmp.Compare(a.ID, b.ID))
	})
	return mine, others
}

// isTheirs reports whether the ledger has a resource as the user's own, or had it so and no tag tells whose it is.
func (d decision) isTheirs(id string) bool {
	return id != "" && (slices.Contains(d.w.Released, id) || d.isInUse(id))
}

// isInUse reports whether the ledger has a resource as the user's own under another key, or as one that had the name before an attempt and
// neither a tag nor the ledger tells whose it is: then a create hasn't made it. What was released may be made again, where IDs are names.
func (d decision) isInUse(id string) bool {
	had := func(e *ledgerv1.Entry) bool { return !d.w.Tagged && slices.Contains(e.Before, id) }
	switch {
	case d.elsewhere(func(e *ledgerv1.Entry) bool { return e.Foreign && e.ID == id }) != "":
		return true
	case d.e != nil && !d.e.Foreign && d.e.ID == id, d.oursUnder(id) != "":
		return false
	}
	return d.e != nil && had(d.e) || d.elsewhere(had) != ""
}

// others are the other keys of the kind whose entries in the ledger fit.
func (w Wish) others(fits func(*ledgerv1.Entry) bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.Ledger)), func(key string) bool {
		e := w.Ledger[key]
		return key == w.Key || e.Kind != w.Kind || !fits(e)
	})
}

// elsewhere is the first of these keys; empty if there is none.
func (d decision) elsewhere(fits func(*ledgerv1.Entry) bool) string {
	if keys := d.w.others(fits); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// keyOf is another key under which the ledger has a resource.
func (d decision) keyOf(id string) string {
	return d.elsewhere(func(e *ledgerv1.Entry) bool { return e.ID == id })
}

// oursUnder is another key under which the ledger has a resource as ours.
func (d decision) oursUnder(id string) string {
	return d.elsewhere(func(e *ledgerv1.Entry) bool { return !e.Foreign && e.ID == id })
}

// attempted reports whether something may have been made under a key, and it isn't known what. What was refused because its name is taken
// may have been made, too.
func attempted(e *ledgerv1.Entry) bool { return e.Owned() && e.ID == "" }

// Attempts are the other keys of the kind under which something may have been made that no tag proves ours.
func (w Wish) Attempts() []string {
	return w.others(func(e *ledgerv1.Entry) bool { return !w.Tagged && attempted(e) })
}

// seeks reports whether what other attempts have made has to be searched for, before something is taken for the user's own.
func (d decision) seeks() bool { return d.s.Sought == nil && len(d.w.Attempts()) > 0 }

// seek what they have made, where the ledger has them.
func (d decision) seek() Step {
	for _, key := range d.w.Attempts() {
		if e := d.w.Ledger[key]; e.Scope.Within(d.w.Within) == nil {
			return d.noScope(e)
		}
	}
	return Step{Verb: Seek}
}

// soughtUnder is the key of the attempt whose search has found a resource.
func (d decision) soughtUnder(id string) string {
	for _, key := range slices.Sorted(maps.Keys(d.s.Sought)) {
		if slices.Contains(d.s.Sought[key], id) {
			return key
		}
	}
	return ""
}

// unsettled is another key with an attempt that fits and whose resource may still appear, and that no tag would prove ours.
func (d decision) unsettled(fits func(*ledgerv1.Entry) bool) string {
	return d.elsewhere(func(e *ledgerv1.Entry) bool {
		return !d.w.Tagged && attempted(e) && fits(e) && e.At != nil && d.s.Began.Before(d.settledAt(e))
	})
}

// awaits the outcome of such an attempt.
func (d decision) awaits(key, why string) Step {
	return ends(phases.Waiting("the outcome of a create under the key %q isn't known yet: %s, and no tag tells; it is known at %s",
		key, why, d.clockTime(d.settledAt(d.w.Ledger[key]))))
}

func (d decision) mayBe(id string) string { return d.w.Kind + " " + id + " may be what it made" }

// generatesName reports whether an attempt was made without a title: the name that a spec gives may be the one that it generated.
func generatesName(e *ledgerv1.Entry) bool { return e.Title == "" }

// hasMyName reports whether an attempt is for the same name.
func (d decision) hasMyName(e *ledgerv1.Entry) bool {
	return attempted(e) && d.e.Title != "" && e.Title == d.e.Title && maps.Equal(e.Scope, d.e.Scope)
}

// claimsOurs reports that the spec names as the user's own what was made for this owner. The ledger and the tag say whose it is, not the
// spec, so it stays ours; it isn't deleted either, unless its owner is.
func (d decision) claimsOurs(id string) Step {
	return ends(phases.Failed("%s %s was created for this object, and is deleted with it, although the spec names it as your own: remove it from "+
		"the spec, or name another one", d.w.Kind, id).Because(ReasonClaimChanged))
}

// oursElsewhere is the key under which the ledger has one of the others as ours, or an attempt that may have made it.
func (d decision) oursElsewhere(others []Thing) string {
	for _, o := range others {
		if key := cmp.Or(d.oursUnder(o.ID), d.elsewhere(d.hasMyName), d.soughtUnder(o.ID)); key != "" {
			return key
		}
	}
	return ""
}

// Unproven is the phase of what spec or status show and the ledger lacks, if nothing proves whose it is.
func Unproven(what string) phases.Phase {
	return phases.Failed("spec or status show %s, but the ledger doesn't contain it, and it has no tag that names its owner: add it to the ledger with "+
		"`bedplate ledger adopt`; add --yours if Bedplate must never delete it", what).Because("Unproven")
}

func (d decision) ambiguous(found []Thing) phases.Phase {
	var ids []string
	for _, o := range found {
		ids = append(ids, o.ID)
	}
	return phases.Failed("several resources of kind %s are named %q (%s): rename or delete all but the one to use",
		d.e.Kind, d.e.Title, strings.Join(ids, ", ")).Because("Ambiguous")
}
