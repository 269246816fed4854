package decide

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// repair changes a resource of ours that differs from the spec. One that is in transition is left alone. A service that
// normalizes what it is given would get the same changes for ever, and one that shows them late until then: so the same
// changes are repeated slowly.
func (d decision) repair(o Thing) Step {
	switch {
	case o.Phase.State != phases.StateReady && d.w.Repairs:
		return d.mend(o)
	case d.e.UnreadySince != nil:
		return d.write(Note, func(e *ledgerv1.Entry) { e.UnreadySince = nil })
	case d.e.RepairedAt != nil && !d.within(d.e.RepairedAt, d.w.Slowly): // until then the change may be undone
		return d.write(Note, func(e *ledgerv1.Entry) { e.Repairs, e.RepairedAt, e.Message = 0, nil, "" })
	case o.Phase.State != phases.StateReady || !d.w.Updates:
		return show(o)
	case !d.s.Compared:
		return Step{Verb: Compare, ID: o.ID}
	case d.s.Refused != nil:
		return ends(phases.Of(d.s.Refused))
	case len(d.s.Changes) == 0 && d.w.Again:
		return d.applyAgain(o)
	case len(d.s.Changes) == 0:
		return show(o)
	}
	text := summary(d.s.Changes)
	phase := phases.Waiting("%s %s is being changed: %s", d.e.Kind, o.ID, text).Because("Changing")
	pause := max(d.w.Slowly, d.w.Settle)
	switch {
	case d.s.Applied:
		s := d.write(Note, func(e *ledgerv1.Entry) { e.Applied, e.AppliedAt = text, d.stamp() })
		s.Phase, s.Ends = phase, true
		return s
	case d.e.Applied == text && d.within(d.e.AppliedAt, pause):
		return ends(phase)
	case d.w.Again: // another process that takes over here has to know of it
		return d.write(Apply, func(e *ledgerv1.Entry) { e.Applied, e.AppliedAt, e.InEffect = "", d.stamp(), false })
	}
	return Step{Verb: Apply}
}

// mend handles a resource of ours that isn't ready. A difference from the spec may be the cause, so that is corrected first, if it can
// be.
func (d decision) mend(o Thing) Step {
	e, changes := d.e, d.s.Changes
	if d.s.Refused != nil {
		changes = nil
	}
	text := summary(changes)
	tried := e.AppliedAt != nil && e.UnreadySince != nil && !e.AppliedAt.Before(e.UnreadySince)
	// A change that failed, or was interrupted, is made again after a remedy: then that counts.
	changed := tried && (e.Applied != "" || e.RepairedAt == nil || e.RepairedAt.Before(e.AppliedAt))
	ends := func(p phases.Phase) Step {
		p.Suffices = o.Phase.Suffices
		return ends(p)
	}
	switch {
	case o.Phase.State == phases.StateDeleting:
		return show(o)
	case e.UnreadySince == nil || e.UnreadySince.After(d.now) || e.Generation != d.w.Generation: // a clock was ahead, or the spec has changed
		again := e.UnreadySince == nil && e.Generation == d.w.Generation && d.within(e.RepairedAt, d.w.Slowly)
		return d.write(Note, func(e *ledgerv1.Entry) {
			if e.UnreadySince, e.Generation = d.stamp(), d.w.Generation; !again {
				e.Repairs, e.RepairedAt, e.Message = 0, nil, ""
			}
		})
	case o.Phase.State == phases.StateWaiting && (d.w.Patience == 0 || d.waits()):
		return show(o)
	case d.w.Updates && !d.s.Compared:
		return Step{Verb: Compare, ID: o.ID}
	case d.s.Applied && e.Applied != text: // recorded when done
		return d.write(Note, func(e *ledgerv1.Entry) { e.Applied = text })
	case d.s.Applied, d.s.Remedied, d.rests(e.AppliedAt), d.rests(e.RepairedAt):
		return ends(phases.Waiting("%s: waiting for the last repair to take effect (%s)", o.Phase.Message, d.tried()).Because("Repairing"))
	case text != "" && !changed: // once: a service that normalizes it would get it for ever
		return d.write(Apply, func(e *ledgerv1.Entry) { e.Applied, e.AppliedAt, e.InEffect = "", d.stamp(), false })
	case int(e.Repairs) >= d.w.Limits.Most || d.w.Limits.Within > 0 && !d.within(e.UnreadySince, d.w.Limits.Within):
		return ends(phases.Failed("%s: no further repair is attempted (%s); correct the spec, or repair it yourself", o.Phase.Message, d.tried()))
	}
	return d.write(Remedy, func(e *ledgerv1.Entry) { e.Repairs, e.RepairedAt = e.Repairs+1, d.stamp() })
}

// waits reports whether it may still be in progress, since it was first seen unready or since something was last done about it.
func (d decision) waits() bool {
	return slices.ContainsFunc([]*metav1.Time{d.e.UnreadySince, d.e.AppliedAt, d.e.RepairedAt}, func(since *metav1.Time) bool {
		return d.within(since, d.w.Patience)
	})
}

// rests reports whether the last remedy may still take effect.
func (d decision) rests(at *metav1.Time) bool {
	const doublings = 5 // until the pause is longer than Slowly
	return d.within(at, min(d.w.Poll<<min(max(d.e.Repairs-1, 0), doublings), d.w.Slowly))
}

// tried describes what was done about a resource that isn't ready.
func (d decision) tried() string {
	text := fmt.Sprintf("not ready since %s, %d of %d repairs tried", d.clockTime(d.e.UnreadySince.Time), d.e.Repairs, d.w.Limits.Most)
	if d.e.AppliedAt != nil && !d.e.AppliedAt.Before(d.e.UnreadySince) && d.e.Applied != "" {
		text += ", changed: " + d.e.Applied
	}
	if d.e.Message != "" {
		text += ", the last repair failed: " + d.e.Message
	}
	if d.s.Refused != nil {
		text += ", not as the spec says: " + d.s.Refused.Error()
	}
	return text
}

// applyAgain applies an Update without changes, if the service may have undone the last one without showing it.
func (d decision) applyAgain(o Thing) Step {
	phase, e, inEffect := o.Phase, d.e, d.s.InEffect
	changed, ceased := e.AppliedAt != nil, e.InEffect && !inEffect
	if d.within(e.AppliedAt, d.w.Settle) {
		phase.Retry = phases.Poll
		return ends(phase)
	}
	if ceased {
		phase = phases.Waiting("%s %s is no longer in effect and is applied again", e.Kind, e.ID).Because("Changing")
	}
	switch {
	case d.s.Applied:
		inEffect = false // until the service says so after that
	case changed || ceased:
		return Step{Verb: Apply}
	case e.InEffect == inEffect:
		return ends(phase)
	}
	s := d.write(Note, func(e *ledgerv1.Entry) { e.Applied, e.AppliedAt, e.InEffect = "", nil, inEffect })
	s.Phase, s.Ends = phase, true
	return s
}
