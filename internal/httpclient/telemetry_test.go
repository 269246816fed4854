package httpclient_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/httpclient/httpclienttest"
	"github.com/bedplate/bedplate/internal/metricstest"
)

var spans = tracetest.NewInMemoryExporter()

func TestMain(m *testing.M) {
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	otel.SetTextMapPropagator(propagation.TraceContext{})
	os.Exit(m.Run())
}

// countsOf returns the number of calls of a credential, by operation and class.
func countsOf(t *testing.T, credential string) map[string]float64 {
	t.Helper()
	counts := map[string]float64{}
	for _, value := range metricstest.ValuesOf(t, metrics.Registry, "bedplate_outside_calls_total") {
		if value.Labels["credential"] == credential {
			NewWithT(t).Expect(value.Labels["system"]).To(Equal("toy"))
			counts[value.Labels["operation"]+": "+value.Labels["class"]] = value.GetCounter().GetValue()
		}
	}
	return counts
}

func TestEachRequest_isCountedAndTraced(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	credential := "default/traced-" + rand.Text() // metrics are the process's own
	traceparents := []string{}
	refusals := 1
	i := startIssuer(t, 3600, nil)
	server := httpclienttest.Start(t, map[string]http.HandlerFunc{
		thingPath: func(w http.ResponseWriter, r *http.Request) {
			traceparents = append(traceparents, r.Header.Get("Traceparent"))
			if refusals--; refusals >= 0 {
				httpclienttest.Reply(503, `{"message":"try again, `+r.Header.Get("Authorization")+`"}`)(w, r)
				return
			}
			admits("fetched-1")(w, r)
		},
		"POST /thing": httpclienttest.Reply(403, `{"message":"Tenant has reached the maximum number of VPCs with `+clientSecret+`"}`),
	})
	c := oauth2Client(t, server, i, func(config *httpclient.Config) { config.Secret = credential })

	ctx, parent := otel.Tracer("test").Start(t.Context(), "reconcile")
	_, err := c.Get(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.Create(ctx)
	g.Expect(err).To(HaveOccurred())
	parent.End()

	g.Expect(countsOf(t, credential)).To(Equal(map[string]float64{
		"log in: ok": 1, "get thing: Transient": 1, "get thing: ok": 1, "create thing: Quota": 1,
	}))
	names := []string{}
	var mine tracetest.SpanStubs
	for _, span := range spans.GetSpans() {
		if span.Parent.SpanID() == parent.SpanContext().SpanID() {
			g.Expect(span.Attributes).To(ContainElement(attribute.String("bedplate.credential", credential)))
			names = append(names, span.Name)
			mine = append(mine, span)
		}
	}
	g.Expect(names).To(Equal([]string{"toy log in", "toy get thing", "toy get thing", "toy create thing"}))
	for n, header := range traceparents {
		g.Expect(header).To(Equal(fmt.Sprintf("00-%s-%s-01", parent.SpanContext().TraceID(), mine[n+1].SpanContext.SpanID())))
	}

	families, err := metrics.Registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	recorded, err := json.Marshal(mine.Snapshots())
	g.Expect(err).NotTo(HaveOccurred())
	for _, secret := range []string{clientSecret, "fetched-1"} {
		g.Expect(fmt.Sprint(families)).NotTo(ContainSubstring(secret))
		g.Expect(fmt.Sprintf("%+v %s", mine, recorded)).NotTo(ContainSubstring(secret))
	}
	g.Expect(fmt.Sprintf("%+v", mine)).To(ContainSubstring("[redacted]"))
	g.Expect(strings.Count(fmt.Sprint(families), credential)).To(BeNumerically(">", 0))
}
