package provider_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/simulator"
)

// Not parallel: the tracer is the process's own.
func TestTrace_showsWhatEachReconcileAskedOutside(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	f := bmmtest.Start(t)
	f.Fault(simulator.Fault{
		Operation: "createVpc", Kind: simulator.FaultStatus, Status: http.StatusUnauthorized, Message: "no such token: " + sim.DefaultToken,
		Times: 2, // once may be the server's hiccup
	})

	cluster := f.CreateCluster("demo")
	f.UntilReason(cluster, "VPCReady", "Credentials", "")
	bmmtest.Change(f, f.Secret("demo"), func(s *corev1.Secret) { s.Data["apiName"] = []byte("carbide") }) // another login, so that it is tried again
	f.UntilReady(cluster)
	machine := f.CreateMachine("demo", "worker-1", bootData)
	f.UntilReady(machine)
	f.Delete(machine)
	f.UntilGone(machine)
	f.Delete(cluster)
	f.UntilGone(cluster)

	credential := attribute.String("bedplate.credential", f.Namespace+"/demo")
	for _, row := range []struct{ round, object, call, class string }{
		{"reconcile NvidiaBMMCluster", "demo", "create VPC", "Credentials"},
		{"reconcile NvidiaBMMCluster", "demo", "create VPC", "ok"},
		{"reconcile NvidiaBMMMachine", "worker-1", "create instance", "ok"},
		{"delete NvidiaBMMMachine", "worker-1", "delete instance", "ok"},
		{"delete NvidiaBMMCluster", "demo", "delete VPC", "ok"},
	} {
		all := spans.GetSpans()
		f.Expect(slices.ContainsFunc(all, func(call tracetest.SpanStub) bool {
			round := parentOf(all, call)
			return round != nil && round.Name == row.round &&
				slices.Contains(round.Attributes, attribute.String("bedplate.object", f.Namespace+"/"+row.object)) &&
				call.Name == "bmm "+row.call && slices.Contains(call.Attributes, credential) &&
				slices.Contains(call.Attributes, attribute.String("bedplate.operation", row.call)) &&
				slices.Contains(call.Attributes, attribute.String("bedplate.class", row.class))
		})).To(BeTrue(), "%+v", row)
	}
	recorded := fmt.Sprintf("%+v", spans.GetSpans())
	f.Expect(recorded).To(ContainSubstring("no such token: [redacted]"))
	f.Expect(recorded).NotTo(Or(ContainSubstring(sim.DefaultToken), ContainSubstring(string(bootData))))
}

func parentOf(all tracetest.SpanStubs, span tracetest.SpanStub) *tracetest.SpanStub {
	for i := range all {
		if all[i].SpanContext.SpanID() == span.Parent.SpanID() {
			return &all[i]
		}
	}
	return nil
}
