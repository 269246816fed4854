package graph

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bedplate/bedplate/internal/graph/phases"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// decide says what comes next for one key. It asks nothing and changes nothing. Reconcile, Plan and deletion are loops around it:
// each step is carried out, what came of it is in the next sight, until a step ends the round.
func decide(w wish, e *entry, s sight, now time.Time) step {
	d := decision{w: w, e: e, s: s, now: now}
	switch {
	case s.failed != nil:
		return ends(phases.Of(s.failed))
	case e != nil && (e.Owned() || w.wanted && e.Foreign) && d.isNowhere():
		return d.locate()
	case !w.wanted:
		return d.leave(phases.Phase{})
	case e == nil:
		d.e = new(w.fresh)
		return d.obtain()
	case !e.Foreign && !e.Owned() && (e.Title != w.fresh.Title || !maps.Equal(e.Scope, w.fresh.Scope)):
		// It is no news of another name, or of another place.
		d.e = new(w.fresh)
		return d.obtain()
	case e.State != stateBound && e.Token != "" && (w.claim.uses || e.Title != w.fresh.Title):
		return d.leave(phases.Waiting("the %s of the last attempt is gone", e.Kind))
	case e.State == stateBound && !e.Foreign && w.claim.uses:
		return ends(phases.Failed("%s %s was made for this object, and the spec names one of your own: take that out of the spec again, or "+
			"make another object", e.Kind, e.ID).Because("ClaimChanged"))
	case e.State == stateBound && !e.Foreign && w.claim.renames(e.Title):
		return ends(phases.Failed("%s %s was made under the name %q, and the spec says %q, which can't be changed: say %q again, or make another "+
			"object", e.Kind, e.ID, e.Title, w.claim.title, e.Title).Because("ClaimChanged"))
	case e.State == stateBound && e.Foreign && (w.claim.letsGo(e.ID) || w.claim.renames(e.Title) || d.isElsewhere()):
		return d.drop(release, phases.Waiting("the spec doesn't ask for %s %s any more", e.Kind, e.ID))
	case e.State == stateBound:
		return d.keep()
	}
	return d.obtain()
}

// decision is what one step follows from.
type decision struct {
	w   wish
	e   *entry
	s   sight
	now time.Time
}

// write is a step that has the ledger say something else of the key.
func (d decision) write(v verb, edit func(*entry)) step {
	e := *d.e
	edit(&e)
	return step{verb: v, entry: &e}
}

// drop takes the key out of the ledger. One that is still wanted begins again in the next round.
func (d decision) drop(v verb, p phases.Phase) step {
	return step{verb: v, phase: p, ends: true}
}

func (d decision) stamp() *metav1.Time { return &metav1.Time{Time: d.now.Round(0)} }

// keep looks after a resource that is bound. Only a proven "not found" counts as gone.
func (d decision) keep() step {
	if f := d.w.fresh; !slices.Equal(f.After, d.e.After) || f.Condition != d.e.Condition || (d.w.moved && !d.s.wrote) {
		return d.write(note, func(e *entry) { e.After, e.Condition = f.After, f.Condition })
	}
	object, seen := d.sightOf(d.e.ID)
	switch {
	case !seen:
		return step{verb: lookByID, id: d.e.ID, in: d.e.Scope}
	case object == nil:
		return d.vanished()
	case d.e.GoneAt != nil:
		return d.write(note, func(e *entry) { e.GoneAt = nil })
	case d.w.chooses && len(d.e.Params) == 0 && !d.s.chosen:
		return step{verb: pick}
	case d.s.chosen && !maps.Equal(d.e.Params, d.s.params):
		return d.write(note, func(e *entry) { e.Params = d.s.params })
	case d.e.Foreign:
		return show(*object)
	case d.w.tagged && object.tag.Owner != "" && object.tag.Owner != d.w.owner:
		return ends(phases.Failed("%s %s carries the tag of another object, %q: it is neither changed nor deleted; put the tag %q back, or "+
			"correct this object's ledger", d.e.Kind, object.id, object.tag.Owner, d.w.owner).Because("ForeignTag"))
	}
	if d.hasAnotherKey(*object) {
		return d.anotherKey(*object)
	}
	switch proven := d.e.Proven == d.e.ID; {
	case d.w.tagged && object.tag.Owner == "" && !proven:
		return ends(phases.Failed("%s %s carries no tag, and nothing else says that it was made for this object: it is neither changed nor "+
			"deleted; put the tag %q on it if it was, or correct this object's ledger", d.e.Kind, object.id, d.w.owner).Because("ForeignTag"))
	case d.w.tagged && object.tag.Owner != "" && !proven:
		return d.write(note, func(e *entry) { e.Proven = e.ID })
	}
	return d.repair(*object)
}

// isNowhere reports whether nothing says what a resource lies in that can't be asked for without.
func (d decision) isNowhere() bool { return d.e.Scope.Within(d.w.within) == nil }

// isElsewhere reports whether what has the name that is claimed is to be looked for in another place than the user's own that has it.
func (d decision) isElsewhere() bool {
	is := d.w.fresh.Scope.Within(d.w.within)
	return d.w.claim.title != "" && d.w.before == "" && is != nil && !maps.Equal(is, d.e.Scope)
}

// locate writes down what a resource lies in, which an operator or another client has left out.
func (d decision) locate() step {
	if d.w.lies.Within(d.w.within) != nil {
		return d.write(note, func(e *entry) { e.Scope = d.w.lies })
	}
	return ends(phases.Failed("nothing says in which %s the %s lies: say it with `bedplate ledger adopt --in`", strings.Join(d.w.within, " and "),
		strings.TrimSpace(d.e.Kind+" "+d.e.ID)).Because("NoScope"))
}

// hasAnotherKey reports whether what is this owner's carries another key than the ledger has it under: that was edited.
func (d decision) hasAnotherKey(o thing) bool {
	return d.w.tagged && !d.w.deleting && o.tag.Owner == d.w.owner && o.tag.Key != "" && o.tag.Key != d.w.key
}

func (d decision) anotherKey(o thing) step {
	return ends(phases.Failed("%s %s carries the key %q, and the ledger has it under %q: it is neither changed nor deleted; correct the ledger",
		d.e.Kind, o.id, o.tag.Key, d.w.key).Because("ForeignTag"))
}

// vanished is for a bound resource that is proven to be gone.
func (d decision) vanished() step {
	e := d.e
	switch {
	case e.Foreign && d.w.claim.title != "":
		return d.drop(release, phases.Waiting("%s %s was deleted by its owner: another one of that name is looked for", e.Kind, e.ID))
	case e.Foreign:
		return ends(missing(e.Kind, e.ID))
	case d.w.ifLost != "":
		return ends(phases.Failed("%s %s was deleted outside Bedplate: %s", e.Kind, e.ID, d.w.ifLost).Because(ReasonLost))
	}
	if s, back := d.mayComeBack(); back {
		return s
	}
	return d.drop(forget, phases.Waiting("%s %s was deleted outside Bedplate and is made again", e.Kind, e.ID))
}

func missing(kind, id string) phases.Phase {
	return phases.Failed("%s %s does not exist: name another one in the spec, or bring it back", kind, id)
}

// mayComeBack is what to do as long as a resource that is gone may be brought back by its service.
func (d decision) mayComeBack() (step, bool) {
	if d.w.goneAfter == 0 {
		return step{}, false
	}
	if d.e.GoneAt == nil || d.e.GoneAt.After(d.now) { // by a clock that was ahead
		return d.write(note, func(e *entry) { e.GoneAt = d.stamp() }), true
	}
	until := d.e.GoneAt.Add(d.w.goneAfter)
	return ends(phases.Waiting("%s %s is gone, but the service may bring it back: until %s it is watched",
		d.e.Kind, d.e.ID, d.clockTime(until)).Because("StayingAway")), d.s.began.Before(until)
}

// clockTime is one of today: what is written as later is that of a clock that was ahead.
func (d decision) clockTime(t time.Time) string {
	if t.Sub(d.s.began) > 12*time.Hour {
		return t.UTC().Format(time.DateTime + " MST")
	}
	return t.UTC().Format(time.TimeOnly + " MST")
}
