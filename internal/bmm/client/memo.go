package client

import (
	"context"
	"sync"
	"time"

	shared "github.com/bedplate/bedplate/internal/memo"
)

// memo is a value that a call has to find out. Callers that need it at the same time share the call. It is kept until
// it expires or is forgotten; an error isn't kept.
type memo[T comparable] struct {
	calls shared.Calls[T]

	mu      sync.Mutex
	known   bool
	value   T
	expires time.Time
}

// get the value, or find it: with when it expires; the zero time is never. find must end by itself.
func (m *memo[T]) get(ctx context.Context, find func(context.Context) (T, time.Time, error)) (T, error) {
	return m.calls.Share(ctx, "", m.recall, func(ctx context.Context) (T, error) {
		value, expires, err := find(ctx)
		if err == nil {
			m.remember(value, expires)
		}
		return value, err
	})
}

// forget drops the value, unless there already is another one.
func (m *memo[T]) forget(value T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.value == value {
		m.known = false
	}
}

func (m *memo[T]) recall() (_ T, known bool, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.value, m.known && (m.expires.IsZero() || time.Now().Before(m.expires)), nil
}

func (m *memo[T]) remember(value T, expires time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known, m.value, m.expires = true, value, expires
}
