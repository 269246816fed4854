package graph

import (
	"fmt"

	"github.com/bedplate/bedplate/internal/graph/phases"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// repair changes a resource of ours that isn't as the spec wants it. One that is on its way to something is left alone. A
// service that writes what it is given in a way of its own would be asked for the same changes for ever, and one that shows
// them late until then: so these are asked for slowly.
func (d decision) repair(o thing) step {
	switch {
	case o.phase.State != phases.StateReady && d.w.repairs:
		return d.mend(o)
	case d.e.UnreadySince != nil && (d.e.RepairedAt == nil || !d.within(d.e.RepairedAt, d.w.slowly)): // or it may not last
		return d.write(note, func(e *entry) { e.UnreadySince, e.Repairs, e.RepairedAt, e.Message = nil, 0, nil, "" })
	case o.phase.State != phases.StateReady || !d.w.updates:
		return show(o)
	case !d.s.compared:
		return step{verb: compare, id: o.id}
	case d.s.refused != nil:
		return ends(phases.Of(d.s.refused))
	case len(d.s.changes) == 0 && d.w.again:
		return d.applyAgain(o)
	case len(d.s.changes) == 0:
		return show(o)
	}
	text := summary(d.s.changes)
	phase := phases.Waiting("%s %s is being changed: %s", d.e.Kind, o.id, text).Because("Changing")
	pause := max(d.w.slowly, d.w.settle)
	switch {
	case d.s.applied:
		s := d.write(note, func(e *entry) { e.Applied, e.AppliedAt = text, d.stamp() })
		s.phase, s.ends = phase, true
		return s
	case d.e.Applied == text && d.e.AppliedAt != nil && d.within(d.e.AppliedAt, pause):
		return ends(phase)
	case d.w.again: // another process that goes on from here has to know of it
		return d.write(change, func(e *entry) { e.Applied, e.AppliedAt, e.InEffect = "", d.stamp(), false })
	}
	return step{verb: change}
}

// mend is for a resource of ours that isn't ready. What it is to be like may have been the mistake, so that is put right first.
func (d decision) mend(o thing) step {
	e, text := d.e, summary(d.s.changes)
	changed := e.AppliedAt != nil && e.UnreadySince != nil && !e.AppliedAt.Before(e.UnreadySince)
	ends := func(p phases.Phase) step {
		p.Suffices = o.phase.Suffices
		return ends(p)
	}
	switch {
	case o.phase.State == phases.StateDeleting:
		return show(o)
	case e.UnreadySince == nil || e.UnreadySince.After(d.now) || e.Generation != d.w.generation: // a clock was ahead, or the spec is another one
		return d.write(note, func(e *entry) {
			e.UnreadySince, e.Repairs, e.RepairedAt, e.Generation, e.Message = d.stamp(), 0, nil, d.w.generation, ""
		})
	case o.phase.State == phases.StateWaiting && (d.w.patience == 0 || d.within(e.UnreadySince, d.w.patience)):
		return show(o)
	case d.w.updates && !d.s.compared:
		return step{verb: compare, id: o.id}
	case d.s.refused != nil:
		return ends(phases.Of(d.s.refused))
	case d.s.applied, d.rests(e.AppliedAt), d.rests(e.RepairedAt):
		return ends(phases.Waiting("%s: what was done about it may still help (%s)", o.phase.Message, d.tried()).Because("Repairing"))
	case text != "" && !changed: // once: a service that writes it in its own way each time would be asked for ever
		return d.write(change, func(e *entry) { e.Applied, e.AppliedAt, e.InEffect = text, d.stamp(), false })
	case int(e.Repairs) >= d.w.limits.Most || d.w.limits.Within > 0 && !d.within(e.UnreadySince, d.w.limits.Within):
		return ends(phases.Failed("%s: it isn't repaired any more (%s); correct the spec, or repair it yourself", o.phase.Message, d.tried()))
	}
	return d.write(remedy, func(e *entry) { e.Repairs, e.RepairedAt = e.Repairs+1, d.stamp() })
}

// rests reports whether what was done may still help.
func (d decision) rests(at *metav1.Time) bool {
	const doublings = 5 // until it is slower than slowly
	return at != nil && d.within(at, min(d.w.poll<<min(max(d.e.Repairs-1, 0), doublings), d.w.slowly))
}

// tried says what was done about a resource that isn't ready.
func (d decision) tried() string {
	text := fmt.Sprintf("not ready since %s, repaired %d times of %d", d.clockTime(d.e.UnreadySince.Time), d.e.Repairs, d.w.limits.Most)
	if d.e.AppliedAt != nil && !d.e.AppliedAt.Before(d.e.UnreadySince) && d.e.Applied != "" {
		text += ", changed: " + d.e.Applied
	}
	if d.e.Message != "" {
		text += ", the last time in vain: " + d.e.Message
	}
	return text
}

// applyAgain applies what is as the spec wants it, where the service may have undone that without showing it.
func (d decision) applyAgain(o thing) step {
	phase, e, inEffect := o.phase, d.e, d.s.inEffect
	changed, ceased := e.AppliedAt != nil, e.InEffect && !inEffect
	if changed && d.within(e.AppliedAt, d.w.settle) {
		phase.Retry = phases.Poll
		return ends(phase)
	}
	if ceased {
		phase = phases.Waiting("%s %s was in effect and isn't any more: it is applied again", e.Kind, e.ID).Because("Changing")
	}
	switch {
	case d.s.applied:
		inEffect = false // until the service says so after that
	case changed || ceased:
		return step{verb: change}
	case e.InEffect == inEffect:
		return ends(phase)
	}
	s := d.write(note, func(e *entry) { e.Applied, e.AppliedAt, e.InEffect = "", nil, inEffect })
	s.phase, s.ends = phase, true
	return s
}
