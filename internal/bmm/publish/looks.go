package publish

import "sync"

// share of the workers that the clusters of one namespace may have at once. A cluster that answers needs one for a moment only.
const share = workers / 8

// looks are how many clusters of each namespace are being read. The zero value is ready to use.
type looks struct {
	mu     sync.Mutex
	atWork map[string]int
}

// begin one, unless the namespace has its share.
func (l *looks) begin(namespace string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.atWork[namespace] >= share {
		return false
	}
	if l.atWork == nil {
		l.atWork = map[string]int{}
	}
	l.atWork[namespace]++
	return true
}

func (l *looks) end(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.atWork[namespace]--; l.atWork[namespace] == 0 {
		delete(l.atWork, namespace)
	}
}
