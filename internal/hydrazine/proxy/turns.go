package proxy

import (
	"context"
	"sync"
)

// turns are taken by calls that need much memory for a moment: so many at a time, and fewer of one tenant's. The others wait.
type turns struct {
	all   chan struct{}
	each  int
	mutex sync.Mutex
	of    map[string]*line
}

// line of one tenant. It is there as long as one of its calls takes a turn, or waits for one.
type line struct {
	turns chan struct{}
	calls int
}

func newTurns(all, each int) *turns {
	return &turns{all: make(chan struct{}, all), each: each, of: map[string]*line{}}
}

// take a turn, which the caller gives back.
func (t *turns) take(ctx context.Context, organization string) (giveBack func(), err error) {
	own := t.enter(organization)
	if err := take(ctx, own.turns); err != nil {
		t.leave(organization)
		return nil, err
	}
	if err := take(ctx, t.all); err != nil {
		<-own.turns
		t.leave(organization)
		return nil, err
	}
	return func() { <-t.all; <-own.turns; t.leave(organization) }, nil
}

func take(ctx context.Context, turn chan struct{}) error {
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *turns) enter(organization string) *line {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	own := t.of[organization]
	if own == nil {
		own = &line{turns: make(chan struct{}, t.each)}
		t.of[organization] = own
	}
	own.calls++
	return own
}

func (t *turns) leave(organization string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.of[organization].calls--; t.of[organization].calls == 0 {
		delete(t.of, organization)
	}
}
