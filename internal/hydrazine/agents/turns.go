package agents

import (
	"slices"
	"sync"
	"time"
)

const (
	// turnAsked is how long an agent that waits for a turn precedes others after it was asked for: a caller that needs it asks each second.
	turnAsked = 3 * time.Second
	// turnKept is for how long it keeps its place then, if it is asked for again.
	turnKept = time.Minute
)

// turns of slow agents: few of them are called at a time, each once, one after the other.
type turns struct {
	most    int
	mutex   sync.Mutex
	calling map[string]bool
	waiting []waiting
}

type waiting struct {
	address string
	asked   time.Time // last
}

// take a turn for an agent, unless others are before it.
func (t *turns) take(address string) (leave func(), free bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	now := time.Now()
	t.waiting = slices.DeleteFunc(t.waiting, func(w waiting) bool { return now.Sub(w.asked) > turnKept })
	if t.calling[address] {
		return nil, false
	}
	own := slices.IndexFunc(t.waiting, func(w waiting) bool { return w.address == address })
	if own < 0 {
		own = len(t.waiting)
		t.waiting = append(t.waiting, waiting{address: address})
	}
	t.waiting[own].asked = now
	before := len(t.calling)
	for _, w := range t.waiting[:own] {
		if now.Sub(w.asked) <= turnAsked {
			before++
		}
	}
	if before >= t.most {
		return nil, false
	}
	t.waiting = slices.Delete(t.waiting, own, own+1)
	t.calling[address] = true
	return func() {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		delete(t.calling, address)
	}, true
}
