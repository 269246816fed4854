package graph

// repair changes a resource of ours that isn't as the spec wants it. One that is on its way to something is left alone. A
// service that writes what it is given in a way of its own would be asked for the same changes for ever, and one that shows
// them late until then: so these are asked for slowly.
func (d decision) repair(o thing) step {
	switch {
	case o.phase.State != StateReady || !d.w.updates:
		return show(o)
	case !d.s.compared:
		return step{verb: compare, id: o.id}
	case d.s.refused != nil:
		return ends(PhaseOf(d.s.refused))
	case len(d.s.changes) == 0 && d.w.again:
		return d.applyAgain(o)
	case len(d.s.changes) == 0:
		return show(o)
	}
	text := summary(d.s.changes)
	phase := Waiting("%s %s is being changed: %s", d.e.Kind, o.id, text).Because("Changing")
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

// applyAgain applies what is as the spec wants it, where the service may have undone that without showing it.
func (d decision) applyAgain(o thing) step {
	phase, e, inEffect := o.phase, d.e, d.s.inEffect
	changed, ceased := e.AppliedAt != nil, e.InEffect && !inEffect
	if changed && d.within(e.AppliedAt, d.w.settle) {
		phase.retry = pacePoll
		return ends(phase)
	}
	if ceased {
		phase = Waiting("%s %s was in effect and isn't any more: it is applied again", e.Kind, e.ID).Because("Changing")
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
