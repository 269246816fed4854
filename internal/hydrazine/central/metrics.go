package central

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var restarts = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "bedplate_hydrazine_central_restarts_total",
	Help: "How often a part of an OVN central has ended by itself, and so is started again.",
})

func init() { metrics.Registry.MustRegister(restarts) }

// Restarted counts parts of a central that have ended by themselves. A runtime calls it, which alone knows why they have.
func Restarted(parts int) { restarts.Add(float64(parts)) }
