package graph

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Interval is how long to wait before the next poll of something that has been in progress for so long. With a poll
// interval of 30 s it is 1 s, then 2, 5 and 10, and 30 from then on.
func Interval(poll, since time.Duration) time.Duration {
	var passed time.Duration
	for _, part := range []time.Duration{30, 15, 6, 3} {
		if passed += poll / part; since < passed {
			return poll / part
		}
	}
	return poll
}

// polls remembers since when the view of each owner hasn't changed while something of it is in progress.
type polls struct {
	mu    sync.Mutex
	views map[types.UID]view
}

// view of an owner. Any progress changes it.
type view struct {
	text        string
	since, last time.Time
}

// since is how long an owner has had the same view.
func (p *polls) since(owner types.UID, text string, now time.Time, keep time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.views[owner]
	if !ok {
		maps.DeleteFunc(p.views, func(_ types.UID, v view) bool { return now.Sub(v.last) > keep }) // of owners that are gone
	}
	if !ok || known.text != text {
		known = view{text: text, since: now}
	}
	if p.views == nil {
		p.views = map[types.UID]view{}
	}
	known.last = now
	p.views[owner] = known
	return now.Sub(known.since)
}

// rest forgets an owner that waits for nothing outside.
func (p *polls) rest(owner types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.views, owner)
}
