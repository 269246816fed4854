package memo

import (
	"context"
	"sync"
	"time"
)

// Value is one that a call has to find out. Callers that need it at the same time share the call. It is kept until it
// expires or is forgotten; an error isn't kept. The zero Value is ready to use.
type Value[T comparable] struct {
	calls Calls[T]

	mu      sync.Mutex
	known   bool
	value   T
	expires time.Time
}

// Get the value, or find it: with when it expires; the zero time is never. find must end by itself.
func (v *Value[T]) Get(ctx context.Context, find func(context.Context) (T, time.Time, error)) (T, error) {
	recall := func() (T, bool, error) {
		value, known := v.Recall()
		return value, known, nil
	}
	return v.calls.Share(ctx, "", recall, func(ctx context.Context) (T, error) {
		value, expires, err := find(ctx)
		if err == nil {
			v.remember(value, expires)
		}
		return value, err
	})
}

// Recall the value, if it is known.
func (v *Value[T]) Recall() (_ T, known bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.value, v.known && (v.expires.IsZero() || time.Now().Before(v.expires))
}

// Forget drops the value, unless there already is another one.
func (v *Value[T]) Forget(value T) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.value == value {
		v.known = false
	}
}

func (v *Value[T]) remember(value T, expires time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known, v.value, v.expires = true, value, expires
}
