package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// hostLeases know when a lease has certainly ended whose end no agent has confirmed. Two clocks have to agree: the wall clock, by
// the time in the status, and this process' own clock, by which a lease has ended one lease duration after its time was first
// seen. The wall clock may be set to anything, and a status restored from a backup has a time long ago, while the DPU's lease was
// renewed since. The own clock alone isn't enough for a lease from before a restart with a shorter --lease; its duration is in the
// status: a lease that was promised while the wall clock was ahead ends when that has passed.
type hostLeases struct {
	length time.Duration
	wall   func() time.Time
	// own is a monotonic clock.
	own func() time.Duration

	mutex sync.Mutex
	seen  map[types.NamespacedName]sighting
}

// sighting of a lease's time.
type sighting struct {
	of      types.UID
	expires time.Time
	// length of the lease, both ends by the clock that they were written by. 0 if only its end was written.
	length time.Duration
	at     time.Duration
	// latest is when the lease has ended, by the wall clock of that time.
	latest time.Time
}

func newHostLeases(length time.Duration) *hostLeases {
	began := time.Now()
	return &hostLeases{
		length: length, wall: time.Now, own: func() time.Duration { return time.Since(began) }, seen: map[types.NamespacedName]sighting{},
	}
}

// left is how long a host may still be attached, at most, whose DPU doesn't report.
func (l *hostLeases) left(r *resourcev1.ManagedResource) time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	name := client.ObjectKeyFromObject(r)
	if !attachedByUs(r) {
		delete(l.seen, name)
		return 0
	}
	first := l.first(name, r)
	since := l.own() - first.at
	return max(0, skewOf(l.length)+max(first.byWall(l.wall(), since), l.length-since))
}

// byWall is what is left of a lease by the wall clock, this long after it was first seen.
func (s sighting) byWall(now time.Time, since time.Duration) time.Duration {
	left := s.expires.Sub(now.Round(0))
	if s.length > 0 {
		left = min(left, s.length-since)
	}
	return left
}

// latest is when the lease of an attached host has ended, if the clocks aren't set. It stays the same while the lease does.
func (l *hostLeases) latest(r *resourcev1.ManagedResource) time.Time {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.first(client.ObjectKeyFromObject(r), r).latest
}

// first sighting of a lease's present time. l.mutex is held.
func (l *hostLeases) first(name types.NamespacedName, r *resourcev1.ManagedResource) sighting {
	first, expires := l.seen[name], r.Status.LeaseExpires.Time
	if first.of != r.UID || !first.expires.Equal(expires) {
		first = sighting{of: r.UID, expires: expires, at: l.own()}
		if began := r.Status.LastReport; began != nil {
			first.length = expires.Sub(began.Time)
		}
		now := l.wall()
		first.latest = now.Add(max(first.byWall(now, 0), l.length))
		l.seen[name] = first
	}
	return first
}

// forget a host that is gone.
func (l *hostLeases) forget(name types.NamespacedName) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.seen, name)
}

// skewOf is how far this process' clock may be ahead of another replica's, which has written a lease's end. It counts for long
// leases only: a short one is over before another replica has taken over.
func skewOf(lease time.Duration) time.Duration { return min(clockSkew, lease/10) }
