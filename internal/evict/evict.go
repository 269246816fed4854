// Package evict bounds what clients bring or hold at a time: connections without a certificate, messages that aren't complete,
// bytes that aren't taken. There is always room for one more. Where there is too much, the client that has the most loses its
// heaviest piece, and of several the oldest. So a client that brings too much takes no room from others.
//
// A client of many addresses is many clients. What has been of use can be kept before what hasn't, as long as that leaves half of the room.
package evict

import (
	"slices"
	"sync"
)

// Set has entries of clients, by their keys.
type Set[K comparable] struct {
	limit   int
	mutex   sync.Mutex
	entries []*Entry[K] // oldest first
	parts   [2]part[K]  // what isn't kept, and what is
}

// part of a set.
type part[K comparable] struct {
	of     map[K]int // weight of a client's entries
	weight int       // of all
}

// New makes a set of entries that weigh no more than limit together.
func New[K comparable](limit int) *Set[K] {
	return &Set[K]{limit: limit, parts: [2]part[K]{{of: map[K]int{}}, {of: map[K]int{}}}}
}

// Entry is in the set until it is removed, or evicted.
type Entry[K comparable] struct {
	set     *Set[K]
	key     K
	weight  int
	kept    int // 1, or 0
	gone    bool
	evicted func()
}

// Add an entry. Evicted is called once, and outside of all locks, if it has to go.
func (s *Set[K]) Add(key K, weight int, evicted func()) *Entry[K] {
	e := &Entry[K]{set: s, key: key, evicted: evicted}
	s.mutex.Lock()
	s.entries = append(s.entries, e)
	s.grow(e, weight)
	surplus := s.surplus()
	s.mutex.Unlock()
	end(surplus)
	return e
}

// Grow an entry, or, with a negative number, shrink it.
func (e *Entry[K]) Grow(by int) {
	s := e.set
	s.mutex.Lock()
	if !e.gone {
		s.grow(e, by)
	}
	surplus := s.surplus()
	s.mutex.Unlock()
	end(surplus)
}

// Keep an entry before those that aren't kept, and, of the same client, before those that were kept longer ago.
func (e *Entry[K]) Keep() {
	s := e.set
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if e.gone {
		return
	}
	weight := e.weight
	s.remove(e)
	e.gone, e.kept = false, 1
	s.entries = append(s.entries, e)
	s.grow(e, weight)
}

// Remove an entry, if it is still there.
func (e *Entry[K]) Remove() {
	e.set.mutex.Lock()
	defer e.set.mutex.Unlock()
	e.set.remove(e)
}

// Weight of all entries.
func (s *Set[K]) Weight() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.weight()
}

func (s *Set[K]) weight() int { return s.parts[0].weight + s.parts[1].weight }

func (s *Set[K]) grow(e *Entry[K], by int) {
	p := &s.parts[e.kept]
	e.weight += by
	p.weight += by
	if p.of[e.key] += by; p.of[e.key] == 0 {
		delete(p.of, e.key)
	}
}

func (s *Set[K]) remove(e *Entry[K]) {
	if e.gone {
		return
	}
	e.gone = true
	s.grow(e, -e.weight)
	at := slices.Index(s.entries, e)
	s.entries = slices.Delete(s.entries, at, at+1)
}

// surplus removes and returns what has to go.
func (s *Set[K]) surplus() (gone []*Entry[K]) {
	for s.weight() > s.limit {
		var most *Entry[K]
		kept := 0
		if 2*s.parts[1].weight > s.limit {
			kept = 1
		}
		of := s.parts[kept].of
		for _, e := range s.entries {
			if e.kept == kept && (most == nil || of[e.key] > of[most.key] || e.key == most.key && e.weight > most.weight) {
				most = e
			}
		}
		s.remove(most)
		gone = append(gone, most)
	}
	return gone
}

func end[K comparable](surplus []*Entry[K]) {
	for _, e := range surplus {
		e.evicted()
	}
}
