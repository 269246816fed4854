package simulator

import (
	"slices"
	"time"
)

// Store has all objects of a kind, in the order of their creation. Its user locks it.
type Store[O interface{ Gone(now time.Time) bool }] struct {
	Items []O
}

// Forget drops what is gone by now.
func (s *Store[O]) Forget(now time.Time) {
	s.Items = slices.DeleteFunc(s.Items, func(o O) bool { return o.Gone(now) })
}

// Add a new object.
func (s *Store[O]) Add(o O) { s.Items = append(s.Items, o) }

// Find the first object that is wanted.
func (s *Store[O]) Find(wanted func(O) bool) (found O, ok bool) {
	if i := slices.IndexFunc(s.Items, wanted); i >= 0 {
		return s.Items[i], true
	}
	return found, false
}

// Any reports whether one is wanted.
func (s *Store[O]) Any(wanted func(O) bool) bool { return slices.ContainsFunc(s.Items, wanted) }

// Count those that are wanted.
func (s *Store[O]) Count(wanted func(O) bool) (n int) {
	for _, o := range s.Items {
		if wanted(o) {
			n++
		}
	}
	return n
}
