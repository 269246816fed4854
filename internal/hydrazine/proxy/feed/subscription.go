package feed

import (
	"context"
	"time"
)

// Type of an event.
type Type int

// Types of events.
const (
	Added Type = iota
	Modified
	Deleted
	// Bookmark has only a version: all changes until then were sent.
	Bookmark
)

// Event for a client. Version is where it can continue from; it is 0 if what comes next is needed too, until a Bookmark.
type Event[M any] struct {
	Type    Type
	Item    *Item[M]
	Version uint64
	from    uint64 // the version at which it was so
}

// Filter says what a client gets.
type Filter struct {
	// Owner of the objects. "" is any.
	Owner string
	// Name of the objects. "" is any.
	Name string
}

func matches[M any](f Filter, item *Item[M]) bool {
	return item != nil && (f.Owner == "" || f.Owner == item.Owner) && (f.Name == "" || f.Name == item.Name)
}

// Subscription is one client's. Its fields are guarded by the feed's mutex.
type Subscription[M any] struct {
	feed     *Feed[M]
	filter   Filter
	position uint64 // nothing up to this version is sent any more
	queue    []Event[M]
	limit    int // of the queue
	weight   int
	err      error
	news     chan struct{}
}

// Subscribe to what has happened after a version. 0 starts with all objects. ErrExpired: that isn't known any more.
func (f *Feed[M]) Subscribe(filter Filter, after uint64) (*Subscription[M], error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch {
	case !f.synced:
		return nil, ErrUnsynced
	case after != 0 && after < f.since:
		return nil, ErrExpired
	}
	s := &Subscription[M]{feed: f, filter: filter, position: after, limit: -1, news: make(chan struct{}, 1)}
	if after == 0 {
		s.begin()
	} else {
		for _, c := range f.past {
			s.hear(c)
		}
	}
	s.limit, s.weight = len(s.queue)+f.config.Backlog, len(s.queue)*eventBytes
	f.listeners[s] = struct{}{}
	insert(f.byOwner, filter.Owner, s, struct{}{})
	return s, nil
}

// eventBytes is what an event takes.
const eventBytes = 32

// Weight of what a subscription starts with, in bytes. It is 0 after the first Bookmark.
func (s *Subscription[M]) Weight() int { return s.weight }

// begin with all objects.
func (s *Subscription[M]) begin() {
	items := s.feed.items
	if s.filter.Owner != "" {
		items = s.feed.owned[s.filter.Owner]
	}
	if s.filter.Name == "" {
		s.queue = make([]Event[M], 0, len(items)+1)
	}
	for _, item := range sorted(items) {
		if matches(s.filter, item) {
			s.queue = append(s.queue, Event[M]{Type: Added, Item: item, from: s.feed.latest})
		}
	}
	s.bookmark()
}

// bookmark says that everything until now has been sent.
func (s *Subscription[M]) bookmark() {
	if s.err != nil {
		return
	}
	s.position = max(s.position, s.feed.latest)
	s.queue = append(s.queue, Event[M]{Type: Bookmark, Version: s.position, from: s.feed.latest})
	s.wake()
}

// hear queues a change, as far as it concerns this client.
func (s *Subscription[M]) hear(c change[M]) {
	was, is := matches(s.filter, c.before), matches(s.filter, c.after)
	if s.err != nil || c.version <= s.position || !was && !is {
		return
	}
	event := Event[M]{Type: Modified, Item: c.after, Version: c.version, from: c.version}
	if c.partly {
		event.Version = 0
	}
	switch {
	case !was:
		event.Type = Added
	case !is:
		event.Type, event.Item = Deleted, c.before
	}
	if s.limit >= 0 && len(s.queue) >= s.limit {
		s.end(ErrExpired)
		return
	}
	s.queue = append(s.queue, event)
	s.wake()
}

func (s *Subscription[M]) end(err error) {
	s.err, s.queue = err, nil
	s.wake()
}

func (s *Subscription[M]) wake() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// Close ends the subscription.
func (s *Subscription[M]) Close() {
	s.feed.mutex.Lock()
	defer s.feed.mutex.Unlock()
	delete(s.feed.listeners, s)
	remove(s.feed.byOwner, s.filter.Owner, s)
}

// Next waits for the next event. When there is none for so long, it is a Bookmark.
func (s *Subscription[M]) Next(ctx context.Context, idle time.Duration) (Event[M], error) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		if event, found, err := s.take(false); found || err != nil {
			return event, err
		}
		select {
		case <-ctx.Done():
			return Event[M]{}, ctx.Err()
		case <-s.news:
		case <-timer.C:
			event, _, err := s.take(true)
			return event, err
		}
	}
}

// take the first event of the queue, or, if there is none and that is wanted, a bookmark.
func (s *Subscription[M]) take(bookmark bool) (event Event[M], found bool, err error) {
	s.feed.mutex.Lock()
	defer s.feed.mutex.Unlock()
	switch {
	case s.err != nil:
		return event, false, s.err
	case len(s.queue) > 0:
		event = s.queue[0]
		s.queue[0] = Event[M]{}
		if s.queue = s.queue[1:]; len(s.queue) == 0 {
			s.queue = nil // or what it was a part of would stay
		}
		return event, true, nil
	case bookmark:
		s.position = max(s.position, s.feed.latest)
		return Event[M]{Type: Bookmark, Version: s.position}, true, nil
	}
	return event, false, nil
}
