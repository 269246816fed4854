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
		Help:    "Time from when a public IP's next hop was seen until the IP was announced.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	})
	sessions = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "bedplate_hydrazine_speaker_sessions",
		Help: "1 for the current state of the BGP session with a neighbor.",
	}, []string{"neighbor", "state"})
	lastWord = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "bedplate_hydrazine_speaker_last_word_timestamp_seconds",
		Help: "Unix time at which this speaker withdraws all public IPs unless it renews its Lease.",
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
