// Package decide is the one decision of the engine: what comes next for one key of an owner, from what the spec wants, what the ledger
// says and what was seen outside. It is pure: it makes no calls, changes nothing and doesn't wait, so that tests can explore it in all
// states of a model.
package decide

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// Next decides what comes next for one key. It makes no calls and changes nothing. Reconcile, Plan and deletion are loops
// around it: each step is carried out, and its result is in the next sight, until a step ends the round.
func Next(w Wish, e *ledgerv1.Entry, s Sight, now time.Time) Step {
	d := decision{w: w, e: e, s: s, now: now}
	switch {
	case s.Failed != nil:
		return ends(phases.Of(s.Failed))
	case e != nil && (e.Owned() || w.Wanted && e.Foreign) && d.isNowhere():
		return d.locate()
	case !w.Wanted:
		return d.leave(phases.Phase{})
	case e == nil, !e.Foreign && !e.Owned() && (e.Title != w.Fresh.Title || !maps.Equal(e.Scope, w.Fresh.Scope)):
		d.e = new(w.Fresh) // a refusal of another name, or in another scope, doesn't count
		return d.obtain()
	case e.State != ledgerv1.Bound && e.Token+e.ID != "" && (w.Claim.Uses || e.Title != w.Fresh.Title):
		return d.leave(phases.Waiting("the %s of the last attempt is gone", e.Kind))
	case e.State == ledgerv1.Bound && e.Foreign && (w.Claim.letsGo(e) || d.isElsewhere()):
		return d.drop(Release, phases.Waiting("the spec doesn't ask for %s %s any more", e.Kind, e.ID))
	case e.State == ledgerv1.Bound:
		return d.keep()
	}
	return d.obtain()
}

// decision is the input of one step.
type decision struct {
	w   Wish
	e   *ledgerv1.Entry
	s   Sight
	now time.Time
}

// write is a step that changes the key's entry in the ledger.
func (d decision) write(v Verb, edit func(*ledgerv1.Entry)) Step {
	e := *d.e
	edit(&e)
	return Step{Verb: v, Entry: &e}
}

// drop removes the key from the ledger. One that is still wanted starts again in the next round.
func (d decision) drop(v Verb, p phases.Phase) Step {
	return Step{Verb: v, Phase: p, Ends: true}
}

func (d decision) stamp() *metav1.Time { return &metav1.Time{Time: d.now.Round(0)} }

// keep maintains a bound resource. Only a proven "not found" counts as gone.
func (d decision) keep() Step {
	if s, changed := d.claimChanged(); changed {
		return s
	}
	condition, after, title := d.w.Fresh.Condition, d.after(), d.e.Title
	if d.e.Foreign {
		title = cmp.Or(d.w.Fresh.Title, title) // what it is looked up by may not be known now
	}
	if !slices.Equal(after, d.e.After) || condition != d.e.Condition || title != d.e.Title || (d.w.Moved && !d.s.Wrote) {
		return d.write(Note, func(e *ledgerv1.Entry) { e.Condition, e.After, e.Title = condition, after, title })
	}
	object, seen := d.sightOf(d.e.ID)
	switch {
	case !seen:
		return d.lookAt(d.e.ID)
	case object == nil:
		return d.vanished()
	case d.e.GoneAt != nil:
		return d.write(Note, func(e *ledgerv1.Entry) { e.GoneAt = nil })
	case d.w.Chooses && len(d.e.Params) == 0 && !d.s.Chosen:
		return Step{Verb: Pick}
	case d.s.Chosen && !maps.Equal(d.e.Params, d.s.Params):
		return d.write(Note, func(e *ledgerv1.Entry) { e.Params = d.s.Params })
	case d.e.Foreign:
		return show(*object)
	}
	switch tag, proven := object.Tag.Owner, d.e.Proven == d.e.ID; {
	case !d.w.Tagged, tag == "" && proven:
	case tag == "":
		return ends(phases.Failed("%s %s carries no tag, and nothing else says that it was made for this object: it is neither changed nor "+
			"deleted; put the tag %q on it if it was, or correct this object's ledger", d.e.Kind, object.ID, d.w.Owner).Because("ForeignTag"))
	case tag != d.w.Owner:
		return ends(phases.Failed("%s %s carries the tag of another object, %q: it is neither changed nor deleted; put the tag %q back, or "+
			"correct this object's ledger", d.e.Kind, object.ID, tag, d.w.Owner).Because("ForeignTag"))
	case d.hasAnotherKey(*object):
		return d.anotherKey(*object)
	case !proven || d.e.Untagged != "":
		return d.write(Note, func(e *ledgerv1.Entry) { e.Proven, e.Untagged = e.ID, "" })
	}
	return d.repair(*object)
}

// claimChanged is what to do if the spec asks for another resource than was created. While that exists, it needs what it came after. When it
// is gone, the spec gets the other one.
func (d decision) claimChanged() (_ Step, changed bool) {
	e := d.e
	object, seen := d.sightOf(e.ID)
	if e.Foreign || seen && object == nil || !d.w.Claim.Uses && !d.w.Claim.renames(e.Title) && !d.isElsewhere() {
		return Step{}, false
	}
	p := phases.Failed("%s %s was created in %s, and the spec now asks for %s: set that back, or create another object", e.Kind, e.ID, e.Scope, d.w.Fresh.Scope)
	switch {
	case !seen:
		return d.lookAt(e.ID), true
	case object.Phase.State == phases.StateDeleting:
		return ends(object.Phase), true
	case d.w.Claim.Uses:
		p = phases.Failed("%s %s was created for this object, but the spec now names one of your own: remove that from the spec, or "+
			"create another object", e.Kind, e.ID)
	case d.w.Claim.renames(e.Title):
		p = phases.Failed("%s %s was created with the name %q, and the spec says %q; the name can't be changed: set it back to %q, or create another "+
			"object", e.Kind, e.ID, e.Title, d.w.Claim.Title, e.Title)
	}
	return ends(p.Because(ReasonClaimChanged)), true
}

// after is what it comes after. Until what the spec says is ready, it may still need what it came after, but not what has left the ledger:
// that is gone, and one that is made under its key may come after this one. What comes after it in the ledger is left out until that has
// changed, too: none of a circle could ever be deleted.
func (d decision) after() []string {
	var all []string
	if d.w.Before != "" {
		all = slices.DeleteFunc(slices.Clone(d.e.After), func(key string) bool {
			return d.w.Ledger[key] == nil && !slices.Contains(d.w.Fresh.After, key)
		})
	}
	for _, key := range d.w.Fresh.After {
		if !slices.Contains(all, key) && !d.comesAfter(key, map[string]bool{}) {
			all = append(all, key)
		}
	}
	return all
}

// comesAfter reports whether the ledger has another key after this one, directly or not. Seen are the keys that were followed already.
func (d decision) comesAfter(key string, seen map[string]bool) bool {
	e := d.w.Ledger[key]
	if e == nil || seen[key] {
		return false
	}
	seen[key] = true
	return slices.ContainsFunc(e.After, func(before string) bool { return before == d.w.Key || d.comesAfter(before, seen) })
}

// isNowhere reports whether the scope that a resource needs isn't known.
func (d decision) isNowhere() bool { return d.e.Scope.Within(d.w.Within) == nil }

// isElsewhere reports whether the spec wants it in another scope than the ledger has it in.
func (d decision) isElsewhere() bool {
	is := d.w.Fresh.Scope.Within(d.w.Within)
	return d.w.Before == "" && is != nil && !maps.Equal(is, d.e.Scope.Within(d.w.Within))
}

// locate records a resource's scope, which an operator or another client has left out.
func (d decision) locate() Step {
	if d.w.Lies.Within(d.w.Within) != nil {
		return d.write(Note, func(e *ledgerv1.Entry) { e.Scope = d.w.Lies })
	}
	return d.noScope(d.e)
}

func (d decision) noScope(e *ledgerv1.Entry) Step {
	return ends(phases.Failed("the ledger doesn't say in which %s the %s is: add that with `bedplate ledger adopt --in`", strings.Join(d.w.Within, " and "),
		strings.TrimSpace(e.Kind+" "+e.ID)).Because("NoScope"))
}

// hasAnotherKey reports whether a resource of this owner carries another key than the ledger has it under: the tag or
// the ledger was edited.
func (d decision) hasAnotherKey(o Thing) bool {
	return d.w.Tagged && !d.w.Deleting && o.Tag.Owner == d.w.Owner && o.Tag.Key != "" && o.Tag.Key != d.w.Key
}

func (d decision) anotherKey(o Thing) Step {
	return ends(phases.Failed("%s %s carries the key %q, and the ledger has it under %q: it is neither changed nor deleted; correct the ledger",
		d.e.Kind, o.ID, o.Tag.Key, d.w.Key).Because("ForeignTag"))
}

// vanished handles a bound resource that is proven to be gone.
func (d decision) vanished() Step {
	e := d.e
	switch {
	case e.Foreign && d.w.Claim.optional():
		return d.drop(Release, phases.Waiting("%s %s was deleted by its owner: searching for another one of that name", e.Kind, e.ID))
	case e.Foreign:
		return ends(missing(e.Kind, e.ID))
	case d.w.IfLost != "" && !d.w.Claim.Uses:
		return ends(phases.Failed("%s %s was deleted outside Bedplate: %s", e.Kind, e.ID, d.w.IfLost).Because(phases.ReasonLost))
	}
	if s, back := d.mayComeBack(); back {
		return s
	}
	then := "is created again"
	if d.w.Claim.Uses {
		then = "is replaced by your own"
	}
	return d.drop(Forget, phases.Waiting("%s %s was deleted outside Bedplate and %s", e.Kind, e.ID, then))
}

func missing(kind, id string) phases.Phase {
	return phases.Failed("%s %s does not exist: name another one in the spec, or restore it", kind, id).Because(phases.ReasonMissing)
}

// mayComeBack is what to do while the service may still bring back a resource that is gone.
func (d decision) mayComeBack() (Step, bool) {
	if d.w.GoneAfter == 0 {
		return Step{}, false
	}
	if d.e.GoneAt == nil || d.e.GoneAt.After(d.now) { // written by a clock that was ahead
		return d.write(Note, func(e *ledgerv1.Entry) { e.GoneAt = d.stamp() }), true
	}
	until := d.e.GoneAt.Add(d.w.GoneAfter)
	return ends(phases.Waiting("%s %s is gone, but the service may bring it back: until %s it is watched",
		d.e.Kind, d.e.ID, d.clockTime(until)).Because("StayingAway")), d.s.Began.Before(until)
}

// clockTime formats a time of day, with a date if it is far ahead: then it was written by a clock that was ahead.
func (d decision) clockTime(t time.Time) string {
	if t.Sub(d.s.Began) > 12*time.Hour {
		return t.UTC().Format(time.DateTime + " MST")
	}
	return t.UTC().Format(time.TimeOnly + " MST")
}
