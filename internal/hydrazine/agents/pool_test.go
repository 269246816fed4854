package agents

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

// An agent that ends its stream after each report isn't asked all the time.
func TestPool_pausesAfterEachStream(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	streams, server := &streams{}, grpc.NewServer()
	agentv1.RegisterAgentServer(server, streams)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	p := NewPool(t.Context(), Config{Heartbeat: time.Second, Credentials: insecure.NewCredentials(),
		Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
		}})
	go func() {
		for range p.Changes() {
		}
	}()
	began := time.Now()
	_, _ = p.Report("192.0.2.1")
	g.Eventually(streams.Load, "30s").Should(BeNumerically(">=", 5))
	g.Expect(time.Since(began)).To(BeNumerically(">=", 3*retryFirst))
}

// streams is an agent that says nothing of worth, and counts who listens.
type streams struct {
	agentv1.UnimplementedAgentServer
	atomic.Int32
}

func (s *streams) Watch(_ *agentv1.WatchRequest, stream agentv1.Agent_WatchServer) error {
	s.Add(1)
	return stream.Send(&agentv1.Report{})
}

// A DPU that comes back after hours mustn't wait for minutes.
func TestPool_dialsAgainSoon(t *testing.T) {
	t.Parallel()
	var dialled atomic.Int32
	p := NewPool(t.Context(), Config{Port: 1, Heartbeat: time.Second, Credentials: insecure.NewCredentials(),
		Dial: func(context.Context, string) (net.Conn, error) {
			dialled.Add(1)
			return nil, errors.New("nobody is there")
		}})
	_, _ = p.Report("192.0.2.1")
	// gRPC's own pauses come to ten seconds after five attempts.
	NewWithT(t).Eventually(dialled.Load, "10s").Should(BeNumerically(">", 5))
}
