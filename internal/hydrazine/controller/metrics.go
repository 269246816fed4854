package controller

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// buckets range from a change within a rack to one that requires manual intervention.
var buckets = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}

var (
	propagations = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "bedplate_hydrazine_propagation_seconds",
		Help:    "Time from a change of a network until all its DPUs had it and all later changes.",
		Buckets: buckets,
	})

	announcements = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "bedplate_hydrazine_public_ip_announcement_seconds",
		Help:    "How long it took from when a PublicIP was to be announced until the first BGP speaker did.",
		Buckets: buckets,
	})
)

func init() { metrics.Registry.MustRegister(propagations, announcements) }

// apply a topology to a central, and note when the first change was made that not all DPUs have yet.
func (w *network) apply(ctx context.Context, wanted *topology.Topology) error {
	start := time.Now()
	operations, err := w.north.Apply(ctx, wanted.Group.UID, wanted.Rows())
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if operations > 0 && w.changed.IsZero() {
		w.changed = start
	}
	if err == nil {
		err = w.wrote(ctx, wanted.Members)
	}
	return err
}

// arrived notes how long a change has taken, if all of so many DPUs have it now. The network is locked.
func (w *network) arrived(dpus int) {
	if since := w.changed; w.spread && !since.IsZero() {
		w.changed = time.Time{}
		if dpus > 0 {
			propagations.Observe(time.Since(since).Seconds())
		}
	}
}

// announcing measures the time until wanted addresses are announced. The zero value is ready for use. For addresses from before
// this process it isn't known since when they have been waiting.
type announcing struct {
	mutex sync.Mutex
	since map[types.UID]time.Time
}

// note the current state of an address.
func (a *announcing) note(ip *networkfabricv1.PublicIP) {
	if took, announced := a.step(ip, time.Now()); announced {
		announcements.Observe(took.Seconds())
	}
}

// step returns how long an address has been waiting that is announced now.
func (a *announcing) step(ip *networkfabricv1.PublicIP, now time.Time) (took time.Duration, announced bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	since, waiting := a.since[ip.UID]
	if ip.Status.NextHop != "" && len(ip.Status.AnnouncedBy) == 0 {
		if a.since == nil {
			a.since = map[types.UID]time.Time{}
		}
		if !waiting {
			a.since[ip.UID] = now
		}
		return 0, false
	}
	delete(a.since, ip.UID)
	return now.Sub(since), waiting && ip.Status.NextHop != ""
}
