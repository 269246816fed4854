package graph

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/bedplate/bedplate/internal/ledgers"
)

var unmet = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "bedplate_condition_unmet_seconds",
	Help:    "How long a condition wasn't met until it was.",
	Buckets: ledgers.Durations,
}, []string{"kind", "condition"})

func init() { metrics.Registry.MustRegister(unmet) }

// met observes how long a condition took to be met, given what it was before. The start is the server's time, in
// whole seconds, so that it survives a restart.
func met(owner client.Object, before *metav1.Condition) {
	if before != nil && before.Status != metav1.ConditionTrue {
		unmet.WithLabelValues(ledgers.KindOf(owner), before.Type).Observe(time.Since(before.LastTransitionTime.Time).Seconds())
	}
}
