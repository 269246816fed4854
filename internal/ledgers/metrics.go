package ledgers

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Durations are buckets in seconds, from an immediate answer to hardware that takes hours.
var Durations = []float64{1, 5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400}

var deletions = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "bedplate_deletion_seconds",
	Help:    "Time from the deletion of an object until everything created for it was gone.",
	Buckets: Durations,
}, []string{"kind"})

func init() { metrics.Registry.MustRegister(deletions) }

// gone records that an object is released.
func gone(owner client.Object) {
	if at := owner.GetDeletionTimestamp(); at != nil {
		deletions.WithLabelValues(KindOf(owner)).Observe(time.Since(at.Time).Seconds())
	}
}
