package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/mtls"
)

var (
	portsDesc = prometheus.NewDesc("bedplate_hydrazine_agent_ports",
		"Ports to hosts, by state.", []string{"state"}, nil)
	remainingDesc = prometheus.NewDesc("bedplate_hydrazine_agent_lease_remaining_seconds",
		"Until the first lease of this DPU ends.", nil, nil)
	connectedDesc = prometheus.NewDesc("bedplate_hydrazine_agent_connected",
		"1 where there is a connection: of the agent to Open vSwitch, of ovn-controller to the southbound database.", []string{"to"}, nil)
)

// Metrics of an agent. Its registry has nothing of Go's own: a DPU's memory belongs to the network.
type Metrics struct {
	// Report is the current state.
	Report func() (*agentv1.Report, error)
	// Connected reports whether there is a connection to Open vSwitch's database.
	Connected func() bool

	applies    *prometheus.CounterVec
	starts     prometheus.Counter
	restarts   prometheus.Counter
	isolations prometheus.Histogram

	mutex    sync.Mutex
	released time.Time // when the first port was released whose isolation isn't certain yet; zero if there is none
}

// NewMetrics returns empty metrics.
func NewMetrics() *Metrics {
	m := &Metrics{
		applies: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bedplate_hydrazine_agent_applies_total",
			Help: "Attempts to bring the DPU to the wanted state, by outcome.",
		}, []string{"outcome"}),
		starts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "bedplate_hydrazine_agent_ovn_controller_starts_total",
			Help: "How often the agent has started ovn-controller.",
		}),
		restarts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "bedplate_hydrazine_agent_ovs_vswitchd_restarts_total",
			Help: "How often ovs-vswitchd was started again, as far as the agent has seen.",
		}),
		isolations: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "bedplate_hydrazine_agent_isolation_seconds",
			Help:    "Time from the release of a port until its isolation was confirmed.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
	}
	for _, outcome := range []string{outcomeOK, outcomeNotIsolated, outcomeNotAttached} {
		m.applies.WithLabelValues(outcome)
	}
	return m
}

// Results of apply.
const (
	outcomeOK          = "ok"
	outcomeNotIsolated = "not isolated"
	outcomeNotAttached = "not attached"
)

// cut records that a port was released.
func (m *Metrics) cut() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.released.IsZero() {
		m.released = time.Now()
	}
}

// begin returns the argument for applied: everything that was released until now is going to be isolated.
func (m *Metrics) begin() (released time.Time) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	released, m.released = m.released, time.Time{}
	return released
}

// applied records the result.
func (m *Metrics) applied(released time.Time, isolation, attachment error) {
	switch {
	case isolation != nil:
		m.applies.WithLabelValues(outcomeNotIsolated).Inc()
		m.mutex.Lock()
		defer m.mutex.Unlock()
		if !released.IsZero() {
			m.released = released // it is still pending
		}
		return
	case attachment != nil:
		m.applies.WithLabelValues(outcomeNotAttached).Inc()
	default:
		m.applies.WithLabelValues(outcomeOK).Inc()
	}
	if !released.IsZero() {
		m.isolations.Observe(time.Since(released).Seconds())
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(into chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{portsDesc, remainingDesc, connectedDesc} {
		into <- d
	}
	m.applies.Describe(into)
	m.starts.Describe(into)
	m.restarts.Describe(into)
	m.isolations.Describe(into)
}

// Collect implements prometheus.Collector. Before there is a report, there are no metrics of ports.
func (m *Metrics) Collect(into chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		into <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(connectedDesc, number(m.Connected()), "Open_vSwitch")
	if report, err := m.Report(); err == nil {
		gauge(connectedDesc, number(report.GetOvnController().GetConnected()), "OVN_Southbound")
		states := map[string]int{"isolated": 0, "attached": 0, "waiting": 0, "problem": 0}
		var first time.Time
		for _, port := range report.GetPorts() {
			states[portState(port)]++
			if ends := port.GetLeaseExpires(); ends != nil && (first.IsZero() || ends.AsTime().Before(first)) {
				first = ends.AsTime()
			}
		}
		for state, n := range states {
			gauge(portsDesc, float64(n), state)
		}
		if !first.IsZero() {
			gauge(remainingDesc, time.Until(first).Seconds())
		}
	}
	m.applies.Collect(into)
	m.starts.Collect(into)
	m.restarts.Collect(into)
	m.isolations.Collect(into)
}

func portState(port *agentv1.Port) string {
	switch {
	case port.GetProblem() != "":
		return "problem"
	case port.GetAssignment() == nil:
		return "isolated"
	case !port.GetInstalled():
		return "waiting"
	}
	return "attached"
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// scrapeTimeout is longer than any scrape takes.
const scrapeTimeout = 10 * time.Second

// serveMetrics serves /metrics and /healthz until ctx ends. The agent works without them.
func (a *Agent) serveMetrics(ctx context.Context) {
	if a.options.MetricsAddress == "" {
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(a.metrics, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if expiry, err := a.options.TLS.Expiry(ctx); err == nil {
		registry.MustRegister(expiry)
	} else {
		slog.ErrorContext(ctx, "Metrics don't say when the certificate ends", "error", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2, Timeout: scrapeTimeout}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !a.database.Connected() {
			http.Error(w, "there is no connection to Open vSwitch", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		if a.watchdog.expired() {
			http.Error(w, "the agent is stuck: leases don't end", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	server := &http.Server{Handler: mux, ReadTimeout: scrapeTimeout, WriteTimeout: 2 * scrapeTimeout, MaxHeaderBytes: maxHeaders}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.options.MetricsAddress)
	if err == nil {
		listener = mtls.NewPending(maxConnections).Listen(listener)
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		err = server.Serve(listener)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		slog.ErrorContext(ctx, "Metrics are not served", "address", a.options.MetricsAddress, "error", err)
	}
}
