package speaker

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/bedplate/bedplate/internal/hydrazine/speaker/bgp"
)

var (
	announced = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "bedplate_hydrazine_speaker_announced",
		Help: "Public IPs that this speaker announces.",
	})
	announcements = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "bedplate_hydrazine_speaker_announcements_total",
		Help: "Public IPs that this speaker has begun to announce.",
	})
	withdrawals = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "bedplate_hydrazine_speaker_withdrawals_total",
		Help: "Public IPs that this speaker has withdrawn.",
	})
	delay = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "bedplate_hydrazine_speaker_announcement_delay_seconds",
		Help:    "How long it took from the sight of a public IP's next hop until it was announced.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	})
	sessions = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "bedplate_hydrazine_speaker_sessions",
		Help: "1 for the state that the session with a neighbor is in.",
	}, []string{"neighbor", "state"})
	lastWord = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "bedplate_hydrazine_speaker_last_word_timestamp_seconds",
		Help: "When this speaker withdraws everything, unless it renews its Lease before.",
	})
)

func init() {
	metrics.Registry.MustRegister(announced, announcements, withdrawals, delay, sessions, lastWord)
}

func count(all []bgp.Session) {
	sessions.Reset()
	for _, s := range all {
		sessions.WithLabelValues(s.Neighbor.String(), s.State).Set(1)
	}
}
