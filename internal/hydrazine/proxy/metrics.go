package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// Reasons of refusals, in the label reason.
const (
	refusedSilence     = "silence"     // it hasn't shown a certificate in time
	refusedHandshake   = "handshake"   // it has shown none that identifies it
	refusedConnections = "connections" // there are too many
	refusedCalls       = "calls"       // so are they
	refusedWatches     = "watches"     // and they
	refusedTenant      = "tenant"      // it asks for others' objects
	refusedSlow        = "slow"        // its message hasn't come in time
	refusedRequests    = "requests"    // its calls take more memory than those of any other
	refusedAnswers     = "answers"     // so do answers that it doesn't take
	refusedFrames      = "frames"      // it cuts messages into pieces that take more memory than what is in them
	refusedBytes       = "bytes"       // it writes too much
)

// Metrics of a proxy. No label names a tenant: there may be any number of them, and they are confidential.
type Metrics struct {
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	watches  *prometheus.GaugeVec
	refused  *prometheus.CounterVec
}

// NewMetrics returns empty metrics.
func NewMetrics() *Metrics {
	m := &Metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bedplate_hydrazine_proxy_calls_total",
			Help: "Calls that have been answered, by gRPC code. A Watch is counted when it ends.",
		}, []string{"method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "bedplate_hydrazine_proxy_call_duration_seconds",
			Help:    "How long calls took until they were answered. A Watch lasts as long as it can, and isn't counted.",
			Buckets: []float64{.0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method"}),
		watches: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "bedplate_hydrazine_proxy_watches",
			Help: "Watches that are open.",
		}, []string{"kind"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bedplate_hydrazine_proxy_refused_total",
			Help: "Refused connections, calls and watches, by reason.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{
		refusedSilence, refusedHandshake, refusedConnections, refusedCalls, refusedWatches, refusedTenant,
		refusedSlow, refusedRequests, refusedAnswers, refusedFrames, refusedBytes,
	} {
		m.refused.WithLabelValues(reason)
	}
	return m
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(into chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(into)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(into chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(into)
	}
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.calls, m.duration, m.watches, m.refused}
}

func (m *Metrics) refuse(reason string) { m.refused.WithLabelValues(reason).Inc() }

// refuseHandshake that has failed. A client that has disconnected may only have probed the port.
func (m *Metrics) refuseHandshake(err error) {
	switch {
	case errors.Is(err, io.EOF):
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
		m.refuse(refusedSilence)
	default:
		m.refuse(refusedHandshake)
	}
}

// short name of a method, such as ResourceGroups/Create. Unknown methods have no calls.
func short(method string) string { return method[strings.LastIndex(method, ".")+1:] }

func (m *Metrics) count(method string, err error) {
	said, is := status.FromError(err)
	if !is {
		said = status.FromContextError(err) // as gRPC does
	}
	m.calls.WithLabelValues(short(method), said.Code().String()).Inc()
}

// unary is a grpc.UnaryServerInterceptor.
func (m *Metrics) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	start := time.Now()
	answer, err := handle(ctx, request)
	m.count(info.FullMethod, err)
	m.duration.WithLabelValues(short(info.FullMethod)).Observe(time.Since(start).Seconds())
	return answer, err
}

// stream is a grpc.StreamServerInterceptor.
func (m *Metrics) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	err := handle(server, stream)
	m.count(info.FullMethod, err)
	return err
}
