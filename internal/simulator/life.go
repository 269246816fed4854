package simulator

import "time"

// The states of a Life, unless one is forced.
const (
	Pending      = "Pending"
	Provisioning = "Provisioning"
	Ready        = "Ready"
	Deleting     = "Deleting"
)

// Life is the part of an object's state that follows from the clock, so that nothing has to drive it.
type Life struct {
	Created time.Time
	// Ready is when provisioning ends.
	Ready time.Time
	// Changed is when a client changed the object last; zero if never.
	Changed time.Time
	// Deleted is when a DELETE was accepted, Forgotten when the object is gone; both zero before.
	Deleted, Forgotten time.Time
	// Forced is a status that doesn't follow from the clock, since ForcedAt, and the reason for it.
	Forced, Reason string
	ForcedAt       time.Time
}

// NewLife begins now.
func NewLife(now time.Time, provisioning time.Duration) Life {
	return Life{Created: now, Ready: now.Add(provisioning)}
}

// Delete the object, which takes a while. The first one counts.
func (l *Life) Delete(now time.Time, takes time.Duration) {
	if l.Deleted.IsZero() {
		l.Deleted, l.Forgotten = now, now.Add(takes)
	}
}

// Force a status; an empty one lets it follow from the clock again.
func (l *Life) Force(now time.Time, status, reason string) {
	l.Forced, l.Reason, l.ForcedAt = status, reason, now
}

// Gone reports whether the deletion has ended.
func (l *Life) Gone(now time.Time) bool { return !l.Deleted.IsZero() && !now.Before(l.Forgotten) }

// Status is Pending for the first tenth of the provisioning time.
func (l *Life) Status(now time.Time) string {
	switch {
	case !l.Deleted.IsZero():
		return Deleting
	case l.Forced != "" && !now.Before(l.ForcedAt):
		return l.Forced
	case !now.Before(l.Ready):
		return Ready
	case now.Sub(l.Created) < l.Ready.Sub(l.Created)/10:
		return Pending
	default:
		return Provisioning
	}
}

// Updated is when the object or its status changed last.
func (l *Life) Updated(now time.Time) time.Time {
	last := l.Created
	for _, at := range []time.Time{l.Ready, l.Changed, l.ForcedAt, l.Deleted} {
		if at.After(last) && !at.After(now) {
			last = at
		}
	}
	return last
}
