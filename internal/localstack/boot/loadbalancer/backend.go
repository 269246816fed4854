package loadbalancer

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	checkInterval = time.Second
	checkTimeout  = 5 * time.Second
	failuresDown  = 3 // in a row: one can be chance
)

// Check asks a backend whether it wants connections.
type Check func(ctx context.Context, backend netip.AddrPort) error

// backend is where connections may go. It is unhealthy until it passes its first check.
type backend struct {
	address netip.AddrPort
	ctx     context.Context // until it is removed
	cancel  context.CancelFunc

	mu          sync.Mutex
	up          bool
	failures    int // of checks, in a row
	connections map[net.Conn]struct{}
}

func newBackend(ctx context.Context, address netip.AddrPort) *backend {
	ctx, cancel := context.WithCancel(ctx)
	return &backend{address: address, ctx: ctx, cancel: cancel, connections: map[net.Conn]struct{}{}}
}

func (b *backend) healthy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.up
}

// watch checks the backend until it is removed.
func (b *backend) watch(check Check) {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		b.checked(b.ask(check))
		select {
		case <-b.ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (b *backend) ask(check Check) error {
	ctx, cancel := context.WithTimeout(b.ctx, checkTimeout)
	defer cancel()
	return check(ctx, b.address)
}

// checked records a check's result. A backend that goes down loses its connections: an API server whose etcd is gone
// still answers, and its clients would stay with it.
func (b *backend) checked(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.up, b.failures = true, 0
		return
	}
	b.failures++
	if !b.up || b.failures < failuresDown || b.ctx.Err() != nil {
		return
	}
	b.up = false
	for connection := range b.connections {
		_ = connection.Close()
	}
}

// carry remembers a connection to the backend until the returned function is called.
func (b *backend) carry(connection net.Conn) (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.connections[connection] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.connections, connection)
	}
}
