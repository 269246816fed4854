package graph

import (
	"reflect"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// durations are the buckets, from a call that is answered at once to hardware that takes an afternoon.
var durations = []float64{1, 5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400}

var (
	unmet = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "bedplate_condition_unmet_seconds",
		Help:    "How long a condition wasn't met until it was.",
		Buckets: durations,
	}, []string{"kind", "condition"})

	deletions = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "bedplate_deletion_seconds",
		Help:    "How long it took from the deletion of an object until all was gone that had been made for it.",
		Buckets: durations,
	}, []string{"kind"})
)

func init() { metrics.Registry.MustRegister(unmet, deletions) }

// met notes that a condition that had the given one as its predecessor is met now. The time is the server's, in whole
// seconds, so that it outlives this process.
func met(owner client.Object, before *metav1.Condition) {
	if before != nil && before.Status != metav1.ConditionTrue {
		unmet.WithLabelValues(kindOf(owner), before.Type).Observe(time.Since(before.LastTransitionTime.Time).Seconds())
	}
}

// released notes that an object goes.
func released(owner client.Object) {
	if at := owner.GetDeletionTimestamp(); at != nil {
		deletions.WithLabelValues(kindOf(owner)).Observe(time.Since(at.Time).Seconds())
	}
}

// kindOf is the kind of an object by its Go type: what was read from a server doesn't say it.
func kindOf(owner client.Object) string { return reflect.TypeOf(objectOf(owner)).Elem().Name() }
