package graph

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// obtain gets a resource for a key that has none: the answer to an attempt, one of the user's own, one that carries our tag, or a
// new one.
func (d decision) obtain() step {
	if d.s.attempt.known {
		return d.conclude()
	}
	switch {
	case d.w.before != "":
		return step{verb: waitBefore, phase: phases.WaitsFor(d.w.before), ends: true}
	case d.isNowhere():
		return d.locate()
	case d.w.claim.uses:
		return d.useNamed()
	}
	if phase, refused := d.refused(); refused {
		return ends(phase)
	}
	// What was attempted is looked for at once. Where nothing was, nothing is asked before it is this owner's turn to create.
	if s, must := d.takeTurn(); must && d.e.State != statePending {
		return s
	}
	if !d.s.listed {
		return d.look()
	}
	mine, others := d.found()
	if len(mine) > 0 {
		return d.adoptOne(mine)
	}
	if s, must := d.settles(); must {
		return s
	}
	switch {
	case d.w.unproven.State != "":
		return ends(d.w.unproven)
	case len(others) > 0 && d.w.claim.made:
		return ends(d.inTheWay(others[0]))
	case len(others) == 1:
		return d.bindTo(use, others[0].id, true)
	case len(others) > 1:
		return ends(d.ambiguous(others))
	}
	return d.begin()
}

func (d decision) takeTurn() (step, bool) {
	switch d.s.turn {
	case turnUnasked:
		return step{verb: takeTurn}, true
	case turnQueued:
		p := phases.Waiting("concurrent create limit reached; queued").Because("Queued")
		p.Unasked = true
		return ends(p), true
	}
	return step{}, false
}

// begin creates. It is prepared before its intention is written, and that before it is asked for.
func (d decision) begin() step {
	if s, must := d.takeTurn(); must {
		return s
	}
	if d.s.token == "" {
		return step{verb: prepare}
	}
	e := d.w.fresh
	e.State, e.Token, e.Params, e.At = statePending, d.s.token, d.s.params, d.stamp()
	return step{verb: create, entry: &e}
}

// conclude writes down what came of an attempt.
func (d decision) conclude() step {
	a := d.s.attempt
	switch {
	case a.running:
		return ends(phases.Waiting("the service is at work on the %s", d.e.Kind).Because("Creating"))
	case a.err == nil:
		return d.bindTo(bind, a.id, false)
	case fault.IsAmbiguous(a.err):
		return ends(phases.Of(a.err))
	case fault.ClassOf(a.err) == fault.Conflict && d.provable():
		return d.lookIntoConflict()
	}
	return d.refuse("")
}

// lookIntoConflict finds out whether what has the name is ours: an attempt whose answer was lost may have made it. Where the
// service doesn't say what has it, and no list shows it, the attempt's token stays in the ledger: it may still appear.
func (d decision) lookIntoConflict() step {
	if other := fault.OtherID(d.s.attempt.err); other != "" {
		switch object, seen := d.sightOf(other); {
		case !seen:
			return step{verb: lookByID, id: other, in: d.e.Scope}
		case object != nil && d.mine(*object):
			return d.adoptOne([]thing{*object})
		}
		return d.refuse("")
	}
	if !d.s.listed {
		return d.look()
	}
	if mine, _ := d.found(); len(mine) > 0 {
		return d.adoptOne(mine)
	}
	return d.refuse(d.e.Token)
}

// refuse notes that the service has refused an attempt. A token says that something was made all the same, perhaps.
func (d decision) refuse(token string) step {
	e, phase := d.w.fresh, phases.Of(d.s.attempt.err)
	e.State, e.At, e.Refusal, e.Message = stateRefused, d.stamp(), string(fault.ClassOf(d.s.attempt.err)), phase.Message
	if e.Generation = d.w.generation; token != "" {
		e.Token, e.Params, e.Scope = token, d.e.Params, d.e.Scope
	}
	return step{verb: refuse, entry: &e, phase: phase, ends: true}
}

// bindTo has the ledger name a resource; what is noted of the attempt stays.
func (d decision) bindTo(v verb, id string, foreign bool) step {
	e := d.w.fresh
	e.State, e.ID, e.Foreign, e.Scope = stateBound, id, foreign, d.e.Scope
	if !foreign {
		e.Token, e.Params, e.Proven = d.e.Token, d.e.Params, id
	}
	return step{verb: v, entry: &e}
}

// useNamed binds a resource of the user's own, once it was seen.
func (d decision) useNamed() step {
	switch {
	case d.s.id == "":
		return step{verb: lookUp, in: d.w.fresh.Scope}
	case d.s.object == nil:
		return ends(missing(d.w.fresh.Kind, d.s.id))
	}
	return d.bindTo(use, d.s.id, true)
}

// adoptOne binds the first of the resources that are ours. Others were made by the same attempt, when a service lost the race
// with itself: they go first, because once one is bound none is looked for any more.
func (d decision) adoptOne(mine []thing) step {
	if len(mine) > 1 && !d.w.tagged { // without tags nothing proves that more than one of them is ours
		return ends(d.ambiguous(mine))
	}
	if s, must := d.deleteDoubles(mine[1:]); must {
		return s
	}
	return d.bindTo(adopt, mine[0].id, false)
}

// deleteDoubles asks for what is ours beside the one to keep to be deleted. Only the newest ledger may decide which one that is.
func (d decision) deleteDoubles(doubles []thing) (step, bool) {
	for _, double := range doubles {
		if double.phase.State == phases.StateDeleting || d.wasAsked(double.id) {
			continue
		}
		if !d.s.wrote {
			return d.write(note, func(*entry) {}), true
		}
		return step{verb: remove, id: double.id, in: d.e.Scope}, true
	}
	return step{}, false
}

// settles is what to do as long as "none found" proves nothing, because the service may still finish a create.
func (d decision) settles() (step, bool) {
	if d.e.At == nil || !d.e.Owned() {
		return step{}, false
	}
	attempted := d.e.At.Time
	if d.w.leads.After(attempted) {
		attempted = d.w.leads
	}
	settled := attempted.Add(d.w.settle)
	if !d.s.began.Before(settled) && !d.s.twice { // a list may be wrong once
		return d.look(), true
	}
	return ends(phases.Waiting("the service may still finish the last attempt to create the %s: until %s it is looked for",
		d.e.Kind, d.clockTime(settled)).Because("Settling")), d.s.began.Before(settled)
}

// within reports whether something was written less than so long ago. A time that is still to come is that of a clock that was ahead.
func (d decision) within(at *metav1.Time, most time.Duration) bool {
	return d.s.began.Before(at.Add(most)) && d.s.began.After(at.Add(-most))
}

// refused reports whether the service has refused what the owner still asks for, not long ago. Whatever wakes the owner, it
// isn't asked again so soon. Other credentials and a service that recovers are worth a try at any time.
func (d decision) refused() (phases.Phase, bool) {
	e := d.e
	if e.State != stateRefused || e.At == nil || e.Generation != d.w.generation {
		return phases.Phase{}, false
	}
	phase := phases.Of(&fault.Error{Class: fault.Class(e.Refusal), Err: errors.New(e.Message)})
	if phase.Retry != phases.Slowly || e.Refusal == string(fault.Credentials) {
		return phases.Phase{}, false
	}
	return phase, d.within(e.At, d.w.slowly)
}
