package callmetrics_test

import (
	"crypto/rand"
	"errors"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/bedplate/bedplate/internal/callmetrics"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/metricstest"
)

var spans = tracetest.NewInMemoryExporter()

func TestMain(m *testing.M) {
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	os.Exit(m.Run())
}

// spanOf returns the span of the only call with a credential.
func spanOf(g *WithT, credential string) tracetest.SpanStub {
	var found []tracetest.SpanStub
	for _, span := range spans.GetSpans() {
		for _, a := range span.Attributes {
			if a == attribute.String("bedplate.credential", credential) {
				found = append(found, span)
			}
		}
	}
	g.Expect(found).To(HaveLen(1))
	return found[0]
}

// labelsOf returns the labels of all values of a metric for an operation.
func labelsOf(t *testing.T, metric, operation string) (all []map[string]string) {
	t.Helper()
	for _, value := range metricstest.ValuesOf(t, metrics.Registry, metric) {
		if value.Labels["operation"] == operation {
			all = append(all, value.Labels)
		}
	}
	return all
}

func TestObserve_isOneSpanAndOneCount(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		outcome error
		class   string
		status  codes.Code
	}{
		"success":             {nil, "ok", codes.Unset},
		"a classified fault":  {&fault.Error{Class: fault.Quota, Op: "create VPC", Err: errors.New("403")}, "Quota", codes.Error},
		"an unclassified one": {errors.New("?"), "Transient", codes.Error},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			operation := name + " " + rand.Text() // metrics are the process's own
			ctx, done := callmetrics.Observe(t.Context(), "test", operation, "default/"+operation)
			g.Expect(trace.SpanFromContext(ctx).IsRecording()).To(BeTrue(), "what is done within belongs to the span")
			done(row.outcome)

			span := spanOf(g, "default/"+operation)
			g.Expect(span.Name).To(Equal("test " + operation))
			g.Expect(span.SpanKind).To(Equal(trace.SpanKindClient))
			g.Expect(span.Status.Code).To(Equal(row.status))
			g.Expect(span.Attributes).To(ContainElement(attribute.String("bedplate.class", row.class)))
			g.Expect(labelsOf(t, "bedplate_outside_calls_total", operation)).To(ConsistOf(map[string]string{
				"system": "test", "operation": operation, "class": row.class, "credential": "default/" + operation}))
			g.Expect(labelsOf(t, "bedplate_outside_call_duration_seconds", operation)).To(ConsistOf(map[string]string{
				"system": "test", "operation": operation, "class": row.class}))
		})
	}
}
