package decide

import (
	"errors"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// obtain gets a resource for a key that has none: the answer to an attempt, one of the user's own, one that carries our tag, or a
// new one.
func (d decision) obtain() Step {
	if d.s.Attempt.Known {
		return d.conclude()
	}
	switch {
	case d.w.Before != "" && d.e.State != ledgerv1.Pending && d.e.Token == "": // what was attempted is searched for: that may wait for this
		return d.waitBefore()
	case d.isNowhere():
		return d.locate()
	case d.w.Claim.Uses:
		return d.useNamed()
	}
	if phase, refused := d.refused(); refused {
		return ends(phase)
	}
	// What was attempted is searched for at once. Otherwise no call is made before it is this owner's turn to create.
	if s, must := d.takeTurn(); must && d.e.State != ledgerv1.Pending {
		return s
	}
	if !d.s.Listed {
		return d.look()
	}
	mine, others := d.found()
	if len(mine) > 0 {
		return d.adoptOne(mine)
	}
	if s, must := d.settles(); must {
		return s
	}
	doubtful := slices.DeleteFunc(slices.Clone(others), func(o Thing) bool { return d.isTheirs(o.ID) })
	switch {
	case len(d.w.Unproven) > 0:
		return ends(d.w.Unproven[slices.Min(slices.Collect(maps.Keys(d.w.Unproven)))])
	case d.e.Token != "" && (!d.w.Tagged || d.w.Before != ""):
		// A round without an attempt follows: in that one it is known whose everything is, and nothing is held by what there isn't.
		return d.drop(Forget, phases.Waiting("the last attempt to create the %s made nothing", d.e.Kind))
	case d.w.Before != "":
		return d.waitBefore()
	case len(doubtful) > 0 && d.seeks():
		return d.seek()
	case d.oursElsewhere(doubtful) != "":
		return ends(phases.Waiting("the resource with the name %q was created under the key %q and has to be deleted first; if that is wanted too, "+
			"or needed by others, choose another name", d.e.Title, d.oursElsewhere(doubtful)).Because(ReasonNameTaken))
	case len(doubtful) > 0 && d.unsettled(generatesName) != "":
		return d.awaits(d.unsettled(generatesName), d.mayBe(doubtful[0].ID))
	case len(others) > 0 && d.w.Claim.Made:
		return ends(phases.Failed("%s %s has the name %q and wasn't made for this object: choose another name, or have the spec use it as your own",
			d.w.Kind, others[0].ID, d.w.Claim.Title).Because(string(fault.Conflict)))
	case len(others) == 1:
		if !d.s.Twice { // a list may be wrong once, and another one may have the name
			return d.look()
		}
		if d.s.ID != others[0].ID {
			return d.lookAt(others[0].ID)
		}
		return d.bindTo(Use, others[0].ID)
	case len(others) > 1:
		return ends(d.ambiguous(others))
	}
	return d.begin()
}

func (d decision) waitBefore() Step {
	return Step{Verb: WaitBefore, Phase: phases.WaitsFor(d.w.Before), Ends: true}
}

func (d decision) takeTurn() (Step, bool) {
	switch d.s.Turn {
	case TurnUnasked:
		return Step{Verb: TakeTurn}, true
	case TurnQueued:
		p := phases.Waiting("concurrent create limit reached; queued").Because("Queued")
		p.Unasked = true
		return ends(p), true
	}
	return Step{}, false
}

// begin creates a resource: first prepare the call, then write the intention, then make the call.
func (d decision) begin() Step {
	if key := d.unsettled(d.hasMyName); key != "" {
		return d.awaits(key, "it may make one of the name that this one is to have")
	}
	if s, must := d.takeTurn(); must {
		return s
	}
	if !d.s.Twice && !d.isFirst() { // a list may be wrong once
		return d.look()
	}
	if s, must := d.awaitsRemoval(); must {
		return s
	}
	if d.s.Token == "" {
		return Step{Verb: Prepare}
	}
	e := d.w.Fresh
	e.State, e.Token, e.Params, e.At, e.After = ledgerv1.Pending, d.s.Token, d.s.Params, d.stamp(), d.after()
	if !d.w.Tagged && e.Title != "" {
		e.Before = append(e.Before, d.hadName()...) // a list may show it when the ledger doesn't say any more whose it was
	}
	return Step{Verb: Create, Entry: &e}
}

// isFirst reports whether nothing can be what a create is about to make: the owner's ID is new, and proves what is ours.
func (d decision) isFirst() bool { return d.w.New && (d.w.Tagged || d.w.Fresh.Title == "") }

// hadName are the IDs of what a list of this round has shown. What it shows has the name.
func (d decision) hadName() []string {
	ids := slices.Clone(d.s.Earlier)
	for _, o := range d.s.List {
		if !slices.Contains(ids, o.ID) {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

// awaitsRemoval waits until what has the name is gone, if what a create makes couldn't be told from it: where the name is the ID, or more
// have it than the ledger can record.
func (d decision) awaitsRemoval() (Step, bool) {
	title, had := d.w.Fresh.Title, d.hadName()
	if d.w.Tagged || title == "" {
		return Step{}, false
	}
	if key := d.keyOf(title); key != "" {
		return ends(phases.Waiting("%s %s is in the ledger under the key %q, and has to leave it first; if that is wanted too, choose another name",
			d.w.Kind, title, key).Because(ReasonNameTaken)), true
	}
	if key := d.elsewhere(d.hasMyName); key != "" { // what either makes couldn't be told from what the other one makes
		return ends(phases.Waiting("a create of the name %q under the key %q wasn't answered: what it may have made has to leave the ledger first; if "+
			"that is wanted too, choose another name", title, key).Because(ReasonNameTaken)), true
	}
	if slices.Contains(had, title) || len(had) > ledgerv1.MaxBefore {
		return ends(phases.Waiting("what has the name %q is being deleted, and has to be gone before another %s is created", title, d.w.Kind)), true
	}
	return Step{}, false
}

// conclude records the outcome of an attempt.
func (d decision) conclude() Step {
	a := d.s.Attempt
	switch {
	case a.Running:
		return ends(phases.Waiting("the service is still creating the %s", d.e.Kind).Because("Creating"))
	case a.Err == nil && d.isInUse(a.ID):
		return d.drop(Release, phases.Waiting("%s %s, which was created, is in use as your own: another one is created", d.e.Kind, a.ID))
	case a.Err == nil:
		return d.bindTo(Bind, a.ID)
	case fault.IsAmbiguous(a.Err):
		return ends(phases.Of(a.Err))
	case fault.ClassOf(a.Err) == fault.Conflict && d.provable():
		return d.lookIntoConflict()
	}
	return d.refuse("")
}

// lookIntoConflict finds out whether the resource that has the name is ours: an attempt whose answer was lost may have
// created it. If the service doesn't say which one has it, and no list shows it, the attempt's token stays in the ledger:
// the resource may still appear.
func (d decision) lookIntoConflict() Step {
	if other := fault.OtherID(d.s.Attempt.Err); other != "" {
		switch object, seen := d.sightOf(other); {
		case !seen:
			return d.lookAt(other)
		case object != nil && d.mine(*object):
			return d.adoptOne([]Thing{*object})
		}
		return d.refuse("")
	}
	if !d.s.Listed {
		return d.look()
	}
	if mine, _ := d.found(); len(mine) > 0 {
		return d.adoptOne(mine)
	}
	return d.refuse(d.e.Token)
}

// refuse records that the service has refused an attempt. With a token: something may have been created all the same.
func (d decision) refuse(token string) Step {
	e, phase := d.w.Fresh, phases.Of(d.s.Attempt.Err)
	e.State, e.At, e.After = ledgerv1.Refused, d.stamp(), d.after()
	e.Refusal, e.Message = string(fault.ClassOf(d.s.Attempt.Err)), phase.Message
	if e.Generation = d.w.Generation; token != "" {
		e.Token, e.Params, e.Scope, e.Before = token, d.e.Params, d.e.Scope, d.e.Before
	}
	return Step{Verb: Refuse, Entry: &e, Phase: phase, Ends: true}
}

// bindTo writes a resource's ID into the ledger; what is recorded of the attempt stays.
func (d decision) bindTo(v Verb, id string) Step {
	e := d.w.Fresh
	e.State, e.ID, e.Foreign, e.Scope, e.After = ledgerv1.Bound, id, v == Use, d.e.Scope, d.after()
	if !e.Foreign {
		e.Token, e.Params, e.Proven = d.e.Token, d.e.Params, id
	}
	return Step{Verb: v, Entry: &e}
}

// useNamed binds a resource of the user's own once it was seen.
func (d decision) useNamed() Step {
	if d.s.ID == "" {
		return Step{Verb: LookUp, In: d.w.Fresh.Scope}
	}
	unproven, is := d.w.Unproven[d.s.ID]
	switch object, _ := d.sightOf(d.s.ID); {
	case object == nil:
		return ends(missing(d.w.Fresh.Kind, d.s.ID))
	case d.w.Tagged && object.Tag.Owner == d.w.Owner, d.oursUnder(d.s.ID) != "":
		return d.claimsOurs(d.s.ID)
	case is:
		return ends(unproven)
	case d.isTheirs(d.s.ID):
	case d.seeks():
		return d.seek()
	case d.soughtUnder(d.s.ID) != "":
		return d.claimsOurs(d.s.ID)
	case d.unsettled(attempted) != "":
		return d.awaits(d.unsettled(attempted), d.mayBe(d.s.ID))
	}
	return d.bindTo(Use, d.s.ID)
}

// adoptOne binds the first of the resources that are ours. Others are duplicates of the same attempt, from a race inside the
// service: they are deleted first, because once one is bound no others are searched for.
func (d decision) adoptOne(mine []Thing) Step {
	if len(mine) > 1 && !d.w.Tagged { // without tags nothing proves that more than one of them is ours
		return ends(d.ambiguous(mine))
	}
	if d.s.ID != mine[0].ID { // a list may show what is gone
		return d.lookAt(mine[0].ID)
	}
	if s, must := d.deleteDoubles(mine[1:]); must {
		return s
	}
	return d.bindTo(Adopt, mine[0].ID)
}

// deleteDoubles requests the deletion of duplicates of the one to keep. Only the newest ledger may decide which one that is.
func (d decision) deleteDoubles(doubles []Thing) (Step, bool) {
	for _, double := range doubles {
		if double.Phase.State == phases.StateDeleting || slices.Contains(d.s.Asked, double.ID) {
			continue
		}
		s := d.remove(double.ID)
		if s.Verb == Remove && !d.s.Wrote {
			s = d.write(Note, func(*ledgerv1.Entry) {})
		}
		return s, true
	}
	return Step{}, false
}

// settles is what to do while "none found" proves nothing, because the service may still finish a create.
func (d decision) settles() (Step, bool) {
	e := d.e
	switch {
	case !e.Owned() || e.At == nil && e.State != ledgerv1.Pending: // nothing was attempted
		return Step{}, false
	case e.At != nil && d.s.Began.Before(d.settledAt(e)): // a pending one without a time was edited
		return ends(phases.Waiting("the service may still finish the last attempt to create the %s, which is searched for until %s",
			e.Kind, d.clockTime(d.settledAt(e))).Because("Settling")), true
	}
	return d.look(), !d.s.Twice // a list may be wrong once
}

// settledAt is when an attempt has settled.
func (d decision) settledAt(e *ledgerv1.Entry) time.Time {
	attempted := e.At.Time
	if d.w.Leads.After(attempted) {
		attempted = d.w.Leads
	}
	return attempted.Add(d.w.Settle)
}

// within reports whether something was written, less than so long ago. A time in the future was written by a clock that was ahead.
func (d decision) within(at *metav1.Time, most time.Duration) bool {
	return at != nil && d.s.Began.Before(at.Add(most)) && d.s.Began.After(at.Add(-most))
}

// refused reports whether the service has recently refused what the owner still asks for. Whatever enqueues the owner, the
// create isn't repeated so soon. Refused credentials and services that were down are retried at any time.
func (d decision) refused() (phases.Phase, bool) {
	e := d.e
	if e.State != ledgerv1.Refused || e.Generation != d.w.Generation {
		return phases.Phase{}, false
	}
	phase := phases.Of(&fault.Error{Class: fault.Class(e.Refusal), Err: errors.New(e.Message)})
	if phase.Retry != phases.Slowly || e.Refusal == string(fault.Credentials) {
		return phases.Phase{}, false
	}
	return phase, d.within(e.At, d.w.Slowly)
}
