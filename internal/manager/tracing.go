package manager

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// flushTimeout is how long the last spans may take to leave when the manager ends.
const flushTimeout = 3 * time.Second

// trace sends spans to the collector of the options; without one they are dropped.
func (o *Options) trace(mgr ctrl.Manager) error {
	if o.OTLPEndpoint == "" {
		return nil
	}
	exporter, err := otlptracegrpc.New(context.Background(), otlptracegrpc.WithEndpointURL(o.OTLPEndpoint)) // connects later
	if err != nil {
		return fmt.Errorf("send traces to --otlp-endpoint: %w", err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter),
		trace.WithResource(resource.NewSchemaless(semconv.ServiceName(o.Name))))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return mgr.Add(flush{provider})
}

// flush sends the last spans when the manager ends. It runs on every replica.
type flush struct{ provider *trace.TracerProvider }

var _ manager.LeaderElectionRunnable = flush{}

func (f flush) NeedLeaderElection() bool { return false }

func (f flush) Start(ctx context.Context) error {
	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	return f.provider.Shutdown(ending)
}
