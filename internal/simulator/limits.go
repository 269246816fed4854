package simulator

import (
	"context"
	"sync"
)

// Pool is a pool of connections to a database. A call has one as long as it is at work; when all are taken, calls wait. The
// nil Pool has no limit.
type Pool chan struct{}

// NewPool has so many connections; any number of them if that is negative.
func NewPool(number int) Pool {
	if number < 0 {
		return nil
	}
	return make(Pool, number)
}

// Get waits for a connection as long as the client does.
func (p Pool) Get(ctx context.Context) error {
	if p == nil {
		return nil
	}
	select {
	case p <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Put gives one back.
func (p Pool) Put() {
	if p != nil {
		<-p
	}
}

// Locks are advisory locks, which calls hold from a check until its commit.
type Locks[K comparable] struct {
	mu   sync.Mutex
	held map[K]bool
}

// Try takes a lock that no other call holds.
func (l *Locks[K]) Try(k K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[k] {
		return false
	}
	if l.held == nil {
		l.held = map[K]bool{}
	}
	l.held[k] = true
	return true
}

// Release it.
func (l *Locks[K]) Release(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, k)
}
