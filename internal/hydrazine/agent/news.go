package agent

import (
	"context"
	"sync"
	"time"
)

// pause batches events that happen together.
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

// follow does something whenever there is news, and at least every daemonPoll, until ctx ends. do reports whether it has failed
// in a way that causes an event itself: then follow waits for the full interval, or it would loop.
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
