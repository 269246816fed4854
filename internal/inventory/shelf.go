package inventory

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/httpclient/bounds"
)

// take stores the answer of a list that started and ended at these times, and returns the IDs of changed items. What
// callers last asked for before the time to forget doesn't count as used any more.
func (s *shelf[C, T]) take(began, ended, forget time.Time, list []T, err error) (differ []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if err != nil {
		s.failed = ended
		return nil
	}
	first := s.listed.IsZero()
	s.listed, s.took, s.unseen = began, ended.Sub(began), time.Time{}
	maps.DeleteFunc(s.asked, func(_ string, at time.Time) bool { return at.Before(forget) })
	before := s.items
	s.items, s.bytes = make(map[string]seen[T], len(list)), 0
	for _, item := range list {
		s.put1(s.service.Slim(item), began)
	}
	for _, known := range before {
		if known.at.After(began) { // seen while the list was running
			s.put1(known.item, known.at)
		}
	}
	for id, change := range s.stale {
		delete(s.stale, id)
		if change.at.After(began) {
			s.outdate(id, change.at)
		}
	}
	if first {
		return nil
	}
	for id, now := range s.items {
		if was, ok := before[id]; ok && !s.service.Same(was.item, now.item) || !ok && s.wasKept(id) {
			differ = append(differ, id)
		}
	}
	s.short = false
	for id := range before {
		if _, ok := s.items[id]; !ok {
			differ = append(differ, id)
		}
	}
	if len(differ) > 0 {
		s.moves(ended)
	}
	return differ
}

// enter lets one caller list a site, and the others wait for that, but not all of them for long.
func (v *Inventory[C, T]) enter(ctx context.Context, s *shelf[C, T]) error {
	namespace := s.client().Namespace()
	v.mu.Lock()
	v.waiting[namespace]++
	hasPatience := v.waiting[namespace] <= patient
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.waiting[namespace]--; v.waiting[namespace] == 0 {
			delete(v.waiting, namespace)
		}
	}()
	return s.enter(ctx, hasPatience)
}

// enter waits until no other caller lists any more. It gives up if the API doesn't answer, so that one list doesn't block a worker
// for each object of a dead site.
func (s *shelf[C, T]) enter(ctx context.Context, hasPatience bool) error {
	wait, free := s.tryEnter(hasPatience)
	if free {
		return nil
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	look := time.NewTicker(glance)
	defer look.Stop()
	for err := s.client().Silent(); ; {
		if err != nil {
			return &fault.Error{Class: fault.Transient, Op: "list " + s.service.Items, Err: err}
		}
		select {
		case s.listing <- struct{}{}:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.entered = time.Now()
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
			err = s.client().Silent()
		case <-late.C:
			err = errors.New("the list that another object waits for isn't there yet")
		}
	}
}

// tryEnter enters if no other caller lists, or says how long to wait for the running list.
func (s *shelf[C, T]) tryEnter(hasPatience bool) (wait time.Duration, free bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.listing <- struct{}{}:
		s.entered = time.Now()
		return 0, true
	default:
	}
	if hasPatience {
		return patience, false
	}
	return time.Until(s.entered.Add(moment)), false
}

// due reports whether it is time for a list, and when the list that it replaces started. While something changes, lists follow
// soon and then less and less often, but at least a tenth of the interval apart, and they take no more than a tenth of the
// time: a site with thousands of items being created isn't listed all the time.
func (s *shelf[C, T]) due(now time.Time, interval time.Duration) (since time.Time, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listing) > 0 {
		return s.listed, false
	}
	pause := min(max(graph.Interval(interval, now.Sub(s.moved)), interval/10, 10*s.took), interval)
	seen := s.unseen.IsZero() || now.Sub(s.unseen) >= graph.Interval(interval, 0)
	return s.listed, now.Sub(s.listed) >= pause && (seen || now.Sub(s.listed) >= interval)
}

// moves records that an item is in transition. s.mu is held.
func (s *shelf[C, T]) moves(now time.Time) {
	s.moved = now
	if s.unseen.IsZero() {
		s.unseen = now
	}
}

func (s *shelf[C, T]) client() C {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.api
}

func (s *shelf[C, T]) put(item T, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.service.ID(&item)
	s.asked[id] = at
	s.put1(s.service.Slim(item), at)
	delete(s.stale, id)
	if !s.service.Settled(&item) {
		s.moves(at)
	}
}

func (s *shelf[C, T]) put1(item T, at time.Time) {
	id := s.service.ID(&item)
	s.drop(id)
	bytes := bounds.Size(&item)
	s.items[id] = seen[T]{at: at, item: item, bytes: bytes}
	s.bytes += bytes
}

func (s *shelf[C, T]) drop(id string) {
	s.bytes -= s.items[id].bytes
	delete(s.items, id)
}

// outdate an item that we have changed since it was seen.
func (s *shelf[C, T]) outdate(id string, at time.Time) {
	change := change[T]{at: at, was: s.stale[id].was}
	if known, ok := s.items[id]; ok {
		change.was = &known.item
	}
	s.stale[id] = change
	s.drop(id)
}

// wasKept reports whether an item would have been kept the last time.
func (s *shelf[C, T]) wasKept(id string) bool {
	_, asked := s.asked[id]
	return asked || !s.short
}

// cut keeps only what callers ask for; if that is everything, it keeps nothing.
func (s *shelf[C, T]) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.short = true
	all := len(s.items)
	for id := range s.items {
		if _, asked := s.asked[id]; !asked {
			s.drop(id)
		}
	}
	if len(s.items) == all {
		clear(s.items)
		s.bytes = 0
	}
}

// ask records that a caller asks for an item, so that it is kept when there isn't room for all.
func (s *shelf[C, T]) ask(id string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[id] = now
}

// fresh is an item as it was seen not before a time.
func (s *shelf[C, T]) fresh(id string, notBefore time.Time) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.items[id]
	return known.item, ok && !known.at.Before(notBefore)
}
