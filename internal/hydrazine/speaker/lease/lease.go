// Package lease says whether a BGP speaker's routes may still be in use. Each speaker renews a Lease; before an address is
// reassigned, this package says whether that of a speaker that can't be asked is free again.
//
// A speaker that can't renew its Lease keeps announcing, because the packets of tenants matter more than the API server,
// but it withdraws everything when LastWord is over. If it died at the last moment, its neighbors would keep its routes
// for the hold time and the restart time; then it is Silent. So no address is ever in two places.
//
// Both follow from the existing sessions with the neighbors, which may be older than the configuration. So the Lease says it,
// as its duration: that is over when the speaker is silent.
package lease

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
)

const (
	// Interval between renewals.
	Interval = 10 * time.Second
	// grace is how long renewals may fail before the neighbors' memory is counted on.
	grace = 30 * time.Second

	// Defaults of the API server.
	defaultHoldTime    = 90 * time.Second
	defaultRestartTime = 2 * time.Minute
)

// Name of a speaker's Lease, in the speakers' namespace, and of the manager of the fields that it writes.
func Name(speaker string) string { return "hydrazine-speaker-" + speaker }

// Memory is how long neighbors may keep the routes of a speaker that is gone: until they notice, and then the restart
// time.
func Memory(spec networkfabricv1.BGPConfigurationSpec) time.Duration {
	hold := time.Duration(0)
	for _, neighbor := range spec.Neighbors {
		if neighbor.HoldTime == nil {
			hold = max(hold, defaultHoldTime)
		} else {
			hold = max(hold, neighbor.HoldTime.Duration)
		}
	}
	if spec.RestartTime == nil {
		return hold + defaultRestartTime
	}
	return hold + spec.RestartTime.Duration
}

// LastWord is how long after its last renewal a speaker still announces, given its neighbors' memory. It ends before others
// count on that memory, by a margin for clocks that differ.
func LastWord(memory time.Duration) time.Duration {
	return grace + memory - min(Interval, memory/4)
}

// Seconds is the duration of the Lease of a speaker whose neighbors remember it for so long.
func Seconds(memory time.Duration) int32 {
	return int32((silence(memory) + time.Second - 1) / time.Second) //nolint:gosec // some hours
}

// silence is after how long without a renewal no neighbor keeps a speaker's routes any more.
func silence(memory time.Duration) time.Duration { return grace + 2*memory }

// Recorded is the memory of a speaker's neighbors that its Lease speaks of.
func Recorded(lease *coordinationv1.Lease) time.Duration {
	if lease.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	return max(0, (time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second-grace)/2)
}

// Silence is after how long without a renewal of this Lease no neighbor keeps the speaker's routes any more. The memory is that
// of the configuration of today: the speaker may have it already, and not have renewed its Lease since. The clocks of the speaker
// and of the caller must not be further apart than the distance that LastWord keeps, or the caller adds to it.
func Silence(lease *coordinationv1.Lease, memory time.Duration) time.Duration {
	return silence(max(memory, Recorded(lease)))
}

// Silent reports whether no neighbor keeps the routes any more of a speaker that doesn't renew this Lease.
func Silent(lease *coordinationv1.Lease, memory time.Duration, now time.Time) bool {
	if lease.Spec.RenewTime == nil {
		return true
	}
	return now.Sub(lease.Spec.RenewTime.Time) >= Silence(lease, memory)
}
