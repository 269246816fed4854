package manager

import "time"

// Lease of a leader election, in which Duration > RenewDeadline > 2.2 RetryPeriod.
type Lease struct {
	// Duration of the lease since it was last seen renewed: then another replica takes it.
	Duration time.Duration
	// RenewDeadline is how long the leader tries to renew it. Then it ends: before another one begins.
	RenewDeadline time.Duration
	// RetryPeriod between two looks. client-go makes it up to 2.2 times as long.
	RetryPeriod time.Duration
}

var (
	// DefaultLease is Kubernetes' own: a leader outlives an API server that is away for ten seconds.
	DefaultLease = Lease{Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
	// QuickLease is of a leader that is killed in the middle of something: another replica is at work 10 s later, or sooner. Its price is
	// that a leader ends, and begins again, where the API server is away for five seconds. A former leader that was suspended meanwhile can
	// write nothing that it has read before: see patch.All.
	QuickLease = Lease{Duration: 6 * time.Second, RenewDeadline: 4500 * time.Millisecond, RetryPeriod: 750 * time.Millisecond}
)

// retries is by how much client-go makes a RetryPeriod longer at most.
const retries = 2.2

// Takeover is how long it takes at most until another replica is leader after one was killed: it has seen the last renewal one look late,
// and sees its end one look late.
func (l Lease) Takeover() time.Duration {
	return l.Duration + time.Duration(2*retries*float64(l.RetryPeriod))
}
