package agents

import (
	"context"
	"errors"
	"io"
	"path"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	calls = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "bedplate_hydrazine_agent_calls_total",
		Help: "Completed calls to agents, by gRPC code. A Watch ends when the connection is lost.",
	}, []string{"method", "code"})

	// duration is that of calls that change something: a Watch lasts as long as it can.
	duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "bedplate_hydrazine_agent_call_duration_seconds",
		Help:    "Duration of the calls to agents that change something.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"method"})

	switchRestarts = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "bedplate_hydrazine_switch_restarts_total",
		Help: "How often ovs-vswitchd was started again on a DPU, as far as its agent has seen.",
	})
)

func init() { metrics.Registry.MustRegister(calls, duration, switchRestarts) }

func count(method string, err error) {
	calls.WithLabelValues(path.Base(method), status.Code(err).String()).Inc()
}

// observe a call. It is a grpc.UnaryClientInterceptor.
func observe(
	ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	start := time.Now()
	err := invoke(ctx, method, request, reply, connection, options...)
	count(method, err)
	duration.WithLabelValues(path.Base(method)).Observe(time.Since(start).Seconds())
	return err
}

// observeStream observes a call whose answer continues. It is a grpc.StreamClientInterceptor.
func observeStream(
	ctx context.Context, description *grpc.StreamDesc, connection *grpc.ClientConn, method string, begin grpc.Streamer, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := begin(ctx, description, connection, method, options...)
	if err != nil {
		count(method, err)
		return nil, err
	}
	return observed{stream, method}, nil
}

type observed struct {
	grpc.ClientStream
	method string
}

// RecvMsg implements grpc.ClientStream. After an error there is nothing more to come.
func (o observed) RecvMsg(message any) error {
	err := o.ClientStream.RecvMsg(message)
	switch {
	case errors.Is(err, io.EOF):
		count(o.method, nil)
	case err != nil:
		count(o.method, err)
	}
	return err
}

// States that a watched agent can be in.
const (
	Heard       = "heard"
	Unheard     = "unheard"
	Unreachable = "unreachable"
	Newer       = "newer"
	Invalid     = "invalid"
)

// States counts the agents that are watched, by state. It has each state.
func (p *Pool) States() map[string]int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	states := map[string]int{Heard: 0, Unheard: 0, Unreachable: 0, Newer: 0, Invalid: 0}
	for _, a := range p.known {
		_, err := a.latest()
		states[state(err)]++
	}
	return states
}

func state(err error) string {
	switch {
	case err == nil:
		return Heard
	case errors.Is(err, ErrUnheard):
		return Unheard
	case errors.Is(err, ErrNewer):
		return Newer
	case errors.Is(err, ErrInvalidReport):
		return Invalid
	}
	return Unreachable
}
