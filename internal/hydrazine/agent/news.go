package agent

import (
	"context"
	"sync"
	"time"
)

// pause keeps what happens together from being news one by one.
const pause = 20 * time.Millisecond

// news wakes all waiters when something happens.
type news struct {
	mutex sync.Mutex
	next  chan struct{}
}

func newNews() *news { return &news{next: make(chan struct{})} }

// announce wakes the waiters.
func (n *news) announce() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	close(n.next)
	n.next = make(chan struct{})
}

// wait returns a channel that is closed when something happens from now on.
func (n *news) wait() <-chan struct{} {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.next
}

// follow does something whenever there is news, and at least every daemonPoll, until ctx ends. It reports whether it has failed
// in a way that is news itself: then it waits all the time, or it would continue at once for ever.
func (n *news) follow(ctx context.Context, do func() (failed bool)) {
	for ctx.Err() == nil {
		next := n.wait()
		if do() {
			next = nil
		}
		rest(ctx, pause)
		select {
		case <-ctx.Done():
		case <-next:
		case <-time.After(daemonPoll):
		}
	}
}
