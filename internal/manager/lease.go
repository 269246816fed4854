package manager

import "time"

// Lease of a leader election, in which Duration > RenewDeadline > 2.2 RetryPeriod.
type Lease struct {
	// Duration of the lease since it was last seen renewed: then another replica takes it.
	Duration time.Duration
	// RenewDeadline is how long the leader tries to renew it. Then it gives the lease up, which may take as long again, and ends.
	RenewDeadline time.Duration
	// RetryPeriod between two looks. client-go makes it up to 2.2 times as long.
	RetryPeriod time.Duration
}

var (
	// DefaultLease is Kubernetes' own: a leader outlives an API server that is away for ten seconds. For some seconds there may be two then:
	// see Working.
	DefaultLease = Lease{Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
	// QuickLease is of a leader that is killed in the middle of something: another replica is at work 10 s later, or sooner, and never before
	// the leader has ended. Its price is that a leader ends, and begins again, where the API server is away for three seconds. A former leader
	// that was suspended meanwhile can write nothing that it has read before: see patch.All.
	QuickLease = Lease{Duration: 7 * time.Second, RenewDeadline: 2500 * time.Millisecond, RetryPeriod: 500 * time.Millisecond}
)

// retries is by how much client-go makes a RetryPeriod longer at most.
const retries = 2.2

// Takeover is how long it takes at most until another replica is leader after one was killed: it has seen the last renewal one look late,
// and sees its end one look late.
func (l Lease) Takeover() time.Duration {
	return l.Duration + time.Duration(2*retries*float64(l.RetryPeriod))
}

// Working is how long a leader works at most after its last renewal was written. The answer to that may be late, by the timeout of a call.
// After a RetryPeriod it tries for RenewDeadline to renew the lease, and then, for RenewDeadline at most, to give it up: client-go tells
// only afterwards that it isn't leader any more.
func (l Lease) Working() time.Duration {
	call := max(l.RenewDeadline/2, time.Second) // controller-runtime's
	return call + l.RetryPeriod + 2*l.RenewDeadline
}
