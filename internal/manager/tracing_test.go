package manager

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"go.opentelemetry.io/otel"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bedplate/bedplate/internal/testenv"
)

// spans is a collector that remembers their names.
type spans struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	names []string
}

func (s *spans) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range r.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.names = append(s.names, span.GetName())
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// A reconcile that is running when the manager shuts down may be the one whose traces are needed. Not parallel: the tracer is
// the process'.
func TestTraces_areFlushedAfterTheLastReconcileHasEnded(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	got, server := &spans{}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, got)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)

	o := &Options{
		Name: "test", Kubeconfig: testenv.Kubeconfig(t), HealthAddress: "0", MetricsAddress: "0",
		OTLPEndpoint: "http://" + listener.Addr().String(),
	}
	mgr, err := o.New(testenv.Scheme(t))
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(t.Context())
	g.Expect(mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		_, span := otel.Tracer("test").Start(ctx, "reconcile")
		stop()
		<-ctx.Done()
		for end := time.Now().Add(200 * time.Millisecond); span.IsRecording() && recording() && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // a flush that doesn't wait for this is over by then
		}
		span.End()
		return nil
	}))).To(Succeed())
	g.Expect(mgr.Start(ctx)).To(Succeed())
	g.Expect(got.names).To(ConsistOf("reconcile"))
}

func recording() bool {
	_, span := otel.Tracer("test").Start(context.Background(), "probe")
	return span.IsRecording()
}
