package inventory

import (
	"context"
	"time"
)

// Find returns the items that match, as they were at most an interval ago. An empty result proves nothing: a list
// may lag behind. The errors are those of the client.
func (v *Inventory[C, T]) Find(
	ctx context.Context, api C, site string, match func(*T) bool,
) ([]T, error) {
	s := v.shelf(api, site)
	if err := v.update(ctx, site, s, v.ago(2*v.Interval), v.mention); err != nil {
		return nil, err
	}
	return s.matching(v.Clock.Now(), v.ago(3*v.Interval), match), nil
}

// Since returns the items that match by the newest list, without a call. It isn't ok if that list began before a time, or if not all of it
// was kept. What we have changed meanwhile is as the list has shown it.
func (v *Inventory[C, T]) Since(api C, site string, began time.Time, match func(*T) bool) (found []T, ok bool) {
	s := v.shelf(api, site)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.short || s.listed.Before(began) {
		return nil, false
	}
	for _, known := range s.items {
		if match(&known.item) {
			found = append(found, known.item)
		}
	}
	for _, change := range s.stale {
		if change.was != nil && match(change.was) {
			found = append(found, *change.was)
		}
	}
	return found, true
}

// Refresh lists a site, unless the newest list began after a time. All callers meanwhile share the list.
func (v *Inventory[C, T]) Refresh(ctx context.Context, api C, site string, since time.Time) error {
	return v.update(ctx, site, v.shelf(api, site), since, v.mention)
}

// Known is an item as it was seen last, and when, however long ago that was. It makes and causes no call.
func (v *Inventory[C, T]) Known(api C, site, id string) (is T, at time.Time, ok bool) {
	v.mu.Lock()
	s, ok := v.shelves[key{api.Account(), site}]
	v.mu.Unlock()
	if !ok {
		return is, at, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.items[id]
	return known.item, known.at, ok
}

// Newest is when the newest list of a site began, and the error of an attempt that has failed since.
func (v *Inventory[C, T]) Newest(api C, site string) (listed time.Time, err error) {
	s := v.shelf(api, site)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed, s.err
}

// Forget what a client has listed at a site that isn't used any more, so that the site isn't listed with that client
// again.
func (v *Inventory[C, T]) Forget(api C, site string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.shelves, key{api.Account(), site})
}

func (s *shelf[C, T]) matching(now, notBefore time.Time, match func(*T) bool) (found []T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, known := range s.items {
		if !known.at.Before(notBefore) && match(&known.item) {
			s.asked[id] = now
			found = append(found, known.item)
		}
	}
	return found
}
