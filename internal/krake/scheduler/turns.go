package scheduler

import (
	"context"
	"sync"
)

// turns of namespaces, each of which has so many at the same time.
type turns struct {
	most int

	mu   sync.Mutex
	each map[string]*turn
}

// turn of one namespace. What is known of it goes with the last one that uses it.
type turn struct {
	taken chan struct{}
	users int
}

// take one, and wait for it as long as the context lasts.
func (t *turns) take(ctx context.Context, namespace string) (end func(), _ error) {
	one := t.enter(namespace)
	select {
	case one.taken <- struct{}{}:
		return func() { <-one.taken; t.leave(namespace) }, nil
	case <-ctx.Done():
		t.leave(namespace)
		return nil, ctx.Err()
	}
}

// try to take one, without waiting.
func (t *turns) try(namespace string) (end func(), taken bool) {
	one := t.enter(namespace)
	select {
	case one.taken <- struct{}{}:
		return func() { <-one.taken; t.leave(namespace) }, true
	default:
		t.leave(namespace)
		return nil, false
	}
}

func (t *turns) enter(namespace string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.each[namespace]
	if one == nil {
		if t.each == nil {
			t.each = map[string]*turn{}
		}
		one = &turn{taken: make(chan struct{}, t.most)}
		t.each[namespace] = one
	}
	one.users++
	return one
}

func (t *turns) leave(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.each[namespace].users--; t.each[namespace].users == 0 {
		delete(t.each, namespace)
	}
}
