// Package memo remembers for a while what had to be found out by a call.
package memo

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
)

// Memo keeps answers by their question, and failures for a shorter while, so that callers during an outage don't each make
// the call. Concurrent callers with the same question share it. What has expired doesn't stay in memory.
type Memo[K comparable, V any] struct {
	keepFor, retryAfter time.Duration
	answers             *cache.Expiring
	calls               Calls[V]
}

type answer[V any] struct {
	value V
	err   error
}

// New returns a Memo that keeps each answer for so long, and makes a call that has failed again after some time.
func New[K comparable, V any](keepFor, retryAfter time.Duration, clock clock.Clock) *Memo[K, V] {
	return &Memo[K, V]{keepFor: keepFor, retryAfter: retryAfter, answers: cache.NewExpiringWithClock(clock)}
}

// Get the answer to a question.
func (m *Memo[K, V]) Get(ctx context.Context, question K, find func(context.Context) (V, error)) (V, error) {
	recall := func() (value V, known bool, err error) {
		kept, ok := m.answers.Get(question)
		if !ok {
			return value, false, nil
		}
		a := kept.(answer[V])
		return a.value, true, a.err
	}
	return m.calls.Share(ctx, fmt.Sprintf("%#v", question), recall, func(ctx context.Context) (V, error) {
		value, err := find(ctx)
		keepFor := m.keepFor
		if err != nil {
			keepFor = m.retryAfter
		}
		m.answers.Set(question, answer[V]{value, err}, keepFor)
		return value, err
	})
}

// Calls are shared by concurrent callers. The zero value is ready to use.
type Calls[V any] struct{ flights singleflight.Group }

// Share returns what is known, or makes a call to find it out. The call continues when this caller gives up, since others
// may wait for it: so it must end by itself.
func (c *Calls[V]) Share(
	ctx context.Context, question string, recall func() (_ V, known bool, _ error), find func(context.Context) (V, error),
) (V, error) {
	if value, known, err := recall(); known {
		return value, err
	}
	found := c.flights.DoChan(question, func() (any, error) {
		if value, known, err := recall(); known { // another caller's call has ended just now
			return value, err
		}
		return find(context.WithoutCancel(ctx))
	})
	select {
	case result := <-found:
		return result.Val.(V), result.Err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}
