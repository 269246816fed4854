// Package loadbalancer forwards TCP connections to one endpoint to whichever of its backends is healthy. It stands for
// the virtual IP in front of a cluster's API servers.
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
	check    Check
	log      *slog.Logger
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex
	backends []*backend
	next     int // where the next connection starts to look for a backend
}

// Listen starts a load balancer without backends: it closes each connection at once.
func Listen(endpoint netip.AddrPort, check Check, log *slog.Logger) (*LoadBalancer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", endpoint.String())
	if err != nil {
		cancel()
		return nil, fmt.Errorf("load balancer: %w", err)
	}
	b := &LoadBalancer{listener: listener, check: check, log: log, ctx: ctx, cancel: cancel}
	b.running.Go(b.accept)
	return b, nil
}

// Add adds a backend. It gets connections when it is healthy.
func (b *LoadBalancer) Add(address netip.AddrPort) {
	b.mu.Lock()
	defer b.mu.Unlock()
	added := newBackend(b.ctx, address)
	b.backends = append(b.backends, added)
	b.running.Go(func() { added.watch(b.check) })
}

// Remove removes a backend and says how many are left. Connections that it has stay.
func (b *LoadBalancer) Remove(address netip.AddrPort) (left int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = slices.DeleteFunc(b.backends, func(each *backend) bool {
		if each.address != address {
			return false
		}
		each.cancel()
		return true
	})
	return len(b.backends)
}

// Set adds and removes backends, so that it has these.
func (b *LoadBalancer) Set(addresses []netip.AddrPort) {
	b.mu.Lock()
	var had []netip.AddrPort
	for _, each := range b.backends {
		had = append(had, each.address)
	}
	b.mu.Unlock()
	for _, address := range had {
		if !slices.Contains(addresses, address) {
			b.Remove(address)
		}
	}
	for _, address := range addresses {
		if !slices.Contains(had, address) {
			b.Add(address)
		}
	}
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
	server, through := b.dial()
	if server == nil {
		return
	}
	defer server.Close()
	defer through.carry(server)()
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
func (b *LoadBalancer) dial() (net.Conn, *backend) {
	for _, candidate := range b.candidates() {
		dialer := net.Dialer{Timeout: dialTimeout}
		server, err := dialer.DialContext(b.ctx, "tcp", candidate.address.String())
		if err == nil {
			return server, candidate
		}
	}
	return nil, nil
}

// candidates are the healthy backends, or all of them while none is: perhaps it is the check that is mistaken.
func (b *LoadBalancer) candidates() []*backend {
	b.mu.Lock()
	defer b.mu.Unlock()
	candidates := slices.DeleteFunc(slices.Clone(b.backends), func(each *backend) bool { return !each.healthy() })
	if len(candidates) == 0 {
		candidates = b.backends
	}
	if len(candidates) == 0 {
		return nil
	}
	b.next++
	first := b.next % len(candidates)
	return slices.Concat(candidates[first:], candidates[:first])
}
