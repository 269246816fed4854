package observer

import (
	"math"
	"time"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
)

const (
	// confirmed is how many looks in a row have to show the same before it counts: what flaps changes nothing.
	confirmed = 2
	// impatient is how many retries may come as fast as a Cluster asks for. Later ones come as often as looks at a healthy cluster, at most.
	impatient = 10
)

// isObserved says whether a Cluster is the observer's matter: it is in CONNECTING or in one of the observer's own states. A registered
// one always is.
func isObserved(c *krakev1.Cluster) bool {
	if !c.DeletionTimestamp.IsZero() || c.Spec.Paused || c.Spec.Kubeconfig == nil {
		return false
	}
	switch c.Status.State {
	case krakev1.StateConnecting, krakev1.StateOnline, krakev1.StateNotReady, krakev1.StateUnhealthy, krakev1.StateDegraded, krakev1.StateOffline:
		return true
	}
	return isRegistered(c)
}

// isRegistered says whether a cluster exists without an infrastructure of ours: no other controller writes its state.
func isRegistered(c *krakev1.Cluster) bool {
	return c.Spec.Kubeconfig != nil && c.Status.ScheduledTo == nil
}

// history is what the looks at a cluster have shown.
type history struct {
	// seen is what the newest look has shown, and times how many in a row have. An API server that doesn't answer is DEGRADED, a kubeconfig
	// that can't be used FAILED.
	seen  krakev1.ClusterState
	times int
	// failures in a row: the first one, and the retries.
	failures int32
}

// add a look, and return whether what it shows counts.
func (h *history) add(seen krakev1.ClusterState) bool {
	if h.seen != seen {
		h.seen, h.times = seen, 0
	}
	h.times = min(h.times+1, confirmed)
	switch {
	case seen != krakev1.StateDegraded:
		h.failures = 0
	case h.failures < math.MaxInt32:
		h.failures++
	}
	return h.times >= confirmed || seen == krakev1.StateFailed // which is certain at once
}

// state after a look that counts.
func (h *history) state(c *krakev1.Cluster) krakev1.ClusterState {
	limit := retries(c)
	switch {
	case h.seen == krakev1.StateFailed && !isRegistered(c): // who has made the cluster writes the kubeconfig, too
		return krakev1.StateOffline
	case h.seen != krakev1.StateDegraded:
		return h.seen
	case c.Status.State == krakev1.StateOffline, limit >= 0 && h.failures > limit:
		return krakev1.StateOffline
	}
	return krakev1.StateDegraded
}

// retries that a Cluster asks for; -1 means any number.
func retries(c *krakev1.Cluster) int32 {
	if c.Spec.BackoffLimit == nil {
		return -1
	}
	return *c.Spec.BackoffLimit
}

// pause until the next look, with interval between looks at a cluster that is well.
func (h *history) pause(c *krakev1.Cluster, interval time.Duration) time.Duration {
	switch {
	case h.seen == krakev1.StateFailed:
		return 10 * interval // another kubeconfig ends the pause
	case h.seen != krakev1.StateDegraded && h.times < confirmed && c.Status.State == krakev1.StateConnecting:
		return interval / 10
	case h.seen != krakev1.StateDegraded, c.Status.State == krakev1.StateOffline:
		return interval
	}
	delay := float64(c.Spec.BackoffDelay) * math.Pow(float64(max(c.Spec.Backoff, 1)), float64(h.failures-1)) // in seconds; may be infinite
	longest := max(10*interval, time.Duration(c.Spec.BackoffDelay)*time.Second)
	pause := longest
	if delay < longest.Seconds() {
		pause = time.Duration(delay * float64(time.Second))
	}
	if h.failures > impatient {
		return max(pause, interval)
	}
	return pause
}
