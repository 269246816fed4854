package agents

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/credentials/insecure"
)

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
