// Package loadbalancer forwards TCP connections to one endpoint to whichever of its backends answers. It stands for the
// virtual IP in front of a cluster's API servers.
package loadbalancer

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const dialTimeout = 2 * time.Second

// LoadBalancer listens on one endpoint until it is closed.
type LoadBalancer struct {
	listener net.Listener
	log      *slog.Logger
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex
	backends []netip.AddrPort
	next     int // where the next connection starts to look for a backend
}

// Listen starts a load balancer without backends: it closes each connection at once.
func Listen(endpoint netip.AddrPort, log *slog.Logger) (*LoadBalancer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", endpoint.String())
	if err != nil {
		cancel()
		return nil, fmt.Errorf("load balancer: %w", err)
	}
	b := &LoadBalancer{listener: listener, log: log, ctx: ctx, cancel: cancel}
	b.running.Go(b.accept)
	return b, nil
}

// Add adds a backend. It gets connections as soon as it accepts them.
func (b *LoadBalancer) Add(backend netip.AddrPort) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = append(b.backends, backend)
}

// Remove removes a backend and says how many are left. Connections that it has stay.
func (b *LoadBalancer) Remove(backend netip.AddrPort) (left int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = slices.DeleteFunc(b.backends, func(a netip.AddrPort) bool { return a == backend })
	return len(b.backends)
}

// Close stops listening, breaks all connections and returns when they are closed.
func (b *LoadBalancer) Close() {
	b.cancel()
	_ = b.listener.Close()
	b.running.Wait()
}

func (b *LoadBalancer) accept() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			if b.ctx.Err() == nil {
				b.log.Error("load balancer stopped", "endpoint", b.listener.Addr(), "error", err)
			}
			return
		}
		b.running.Go(func() { b.forward(client) })
	}
}

func (b *LoadBalancer) forward(client net.Conn) {
	defer client.Close()
	server := b.dial()
	if server == nil {
		return
	}
	defer server.Close()
	unblock := context.AfterFunc(b.ctx, func() { _, _ = client.Close(), server.Close() })
	defer unblock()

	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		b.running.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // either side may go away at any time
			done <- struct{}{}
		})
	}
	<-done // TLS doesn't use half-closed connections: the end of one direction ends both
}

// dial connects to the first backend that answers, starting with another one each time.
func (b *LoadBalancer) dial() net.Conn {
	for _, backend := range b.rotated() {
		dialer := net.Dialer{Timeout: dialTimeout}
		server, err := dialer.DialContext(b.ctx, "tcp", backend.String())
		if err == nil {
			return server
		}
	}
	return nil
}

func (b *LoadBalancer) rotated() []netip.AddrPort {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.backends) == 0 {
		return nil
	}
	b.next = (b.next + 1) % len(b.backends)
	return slices.Concat(b.backends[b.next:], b.backends[:b.next])
}
