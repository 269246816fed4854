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

// Memo keeps answers by their question. Those who ask the same at the same time share the call. An error isn't kept, and
// what has expired doesn't stay in memory.
type Memo[K comparable, V any] struct {
	keepFor time.Duration
	answers *cache.Expiring
	flight  singleflight.Group
}

// New returns a Memo that keeps each answer for so long.
func New[K comparable, V any](keepFor time.Duration, clock clock.Clock) *Memo[K, V] {
	return &Memo[K, V]{keepFor: keepFor, answers: cache.NewExpiringWithClock(clock)}
}

// Get the answer to a question. The call goes on when this caller gives up, since others may wait for it: so it must end by
// itself.
func (m *Memo[K, V]) Get(ctx context.Context, question K, find func(context.Context) (V, error)) (V, error) {
	if known, ok := m.answers.Get(question); ok {
		return known.(V), nil
	}
	found := m.flight.DoChan(fmt.Sprintf("%#v", question), func() (any, error) {
		answer, err := find(context.WithoutCancel(ctx))
		if err == nil {
			m.answers.Set(question, answer, m.keepFor)
		}
		return answer, err
	})
	select {
	case result := <-found:
		return result.Val.(V), result.Err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}
