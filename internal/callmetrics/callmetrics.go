// Package callmetrics makes calls to services outside Kubernetes visible: each is a span, and is counted and timed in the
// manager's metrics.
//
// Spans go to OpenTelemetry's global provider, so that they are dropped until the program sets one.
package callmetrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/bedplate/bedplate/internal/fault"
)

// tracer is what the spans say they come from.
const tracer = "github.com/bedplate/bedplate/internal/callmetrics"

// classOK is the class of a call that succeeded; the others are those of package fault.
const classOK = "ok"

var (
	calls = newCounter()

	// duration has no label for the credential: that would multiply the buckets by the number of tenants.
	duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "bedplate_outside_call_duration_seconds",
		Help:    "How long calls to services outside Kubernetes took.",
		Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	}, []string{"system", "operation", "class"})

	withheld = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "bedplate_outside_calls_withheld_total",
		Help: "Calls to services outside Kubernetes that weren't sent, because others weren't answered.",
	}, []string{"system"})
)

func init() { metrics.Registry.MustRegister(Collectors()...) }

// Collectors are the metrics, for a program whose registry isn't that of controller-runtime.
func Collectors() []prometheus.Collector { return []prometheus.Collector{calls, duration, withheld} }

// Observe begins one call. The context that it returns carries the call's span; the function that it returns ends the
// call with its outcome, and must be called once.
//
// System is the service's short name, such as "bmm". Operation says what is done in words that don't depend on the
// object, such as "create VPC". Credential is the namespace/name of the Secret that the call logs in with, or empty. The
// text of the outcome is shown in the span, so no secret may be in it.
func Observe(ctx context.Context, system, operation, credential string) (context.Context, func(outcome error)) {
	start := time.Now()
	ctx, span := otel.Tracer(tracer).Start(ctx, system+" "+operation, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("bedplate.system", system),
			attribute.String("bedplate.operation", operation),
			attribute.String("bedplate.credential", credential)))
	return ctx, func(outcome error) {
		class := classOK
		if outcome != nil {
			class = string(fault.ClassOf(outcome))
			span.SetStatus(codes.Error, outcome.Error())
		}
		span.SetAttributes(attribute.String("bedplate.class", class))
		span.End()
		calls.count(system, operation, class, credential)
		duration.WithLabelValues(system, operation, class).Observe(time.Since(start).Seconds())
	}
}

// Withheld counts a call that isn't made, because others weren't answered.
func Withheld(system string) { withheld.WithLabelValues(system).Inc() }
