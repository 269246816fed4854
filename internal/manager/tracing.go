package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bedplate/bedplate/internal/version"
)

// flushTimeout is how long the last spans may take to leave when the manager ends.
const flushTimeout = 3 * time.Second

// traced returns the manager with its spans sent to the collector of the options; without one they are dropped.
func (o *Options) traced(mgr ctrl.Manager) (ctrl.Manager, error) {
	if o.OTLPEndpoint == "" {
		return mgr, nil
	}
	exporter, err := otlptracegrpc.New(context.Background(), otlptracegrpc.WithEndpointURL(o.OTLPEndpoint)) // connects later
	if err != nil {
		return nil, fmt.Errorf("send traces to --otlp-endpoint: %w", err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter),
		trace.WithResource(resource.NewSchemaless(semconv.ServiceName(o.Name), semconv.ServiceVersion(version.Get()))))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return flushing{mgr, provider}, nil
}

// flushing sends the last spans when all that the manager runs has ended: a reconcile ends its spans last.
type flushing struct {
	ctrl.Manager
	provider *trace.TracerProvider
}

func (f flushing) Start(ctx context.Context) error {
	err := f.Manager.Start(ctx)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	return errors.Join(err, f.provider.Shutdown(ending))
}
