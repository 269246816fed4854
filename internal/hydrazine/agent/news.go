package agent

import "sync"

// news wakes everybody who waits for the next thing to happen.
type news struct {
	mutex sync.Mutex
	next  chan struct{}
}

func newNews() *news { return &news{next: make(chan struct{})} }

// announce wakes those who wait.
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
