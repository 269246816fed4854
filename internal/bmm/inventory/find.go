package inventory

import (
	"context"
	"time"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
)

// Find returns the instances that match, as they were at most an interval ago. An empty result proves nothing: a list
// may lag behind. The errors are those of the client.
func (v *Inventory) Find(
	ctx context.Context, api *bmm.Client, siteID string, match func(*bmm.Instance) bool,
) ([]bmm.Instance, error) {
	s := v.shelf(api, siteID)
	if err := v.update(ctx, siteID, s, v.ago(2*v.Interval), v.mention); err != nil {
		return nil, err
	}
	return s.matching(v.Clock.Now(), v.ago(3*v.Interval), match), nil
}

// Refresh lists a site, unless the newest list began after a time. All callers meanwhile share the list.
func (v *Inventory) Refresh(ctx context.Context, api *bmm.Client, siteID string, since time.Time) error {
	return v.update(ctx, siteID, v.shelf(api, siteID), since, v.mention)
}

// Known is an instance as it was seen last, and when, however long ago that was. It makes and causes no call.
func (v *Inventory) Known(api *bmm.Client, siteID, id string) (is bmm.Instance, at time.Time, ok bool) {
	v.mu.Lock()
	s, ok := v.sites[site{api.Account(), siteID}]
	v.mu.Unlock()
	if !ok {
		return is, at, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.instances[id]
	return known.instance, known.at, ok
}

// Newest is when the newest list of a site began, and the error of an attempt that has failed since.
func (v *Inventory) Newest(api *bmm.Client, siteID string) (listed time.Time, err error) {
	s := v.shelf(api, siteID)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed, s.err
}

// Forget what a client has listed at a site that isn't used any more, so that the site isn't listed with that client
// again.
func (v *Inventory) Forget(api *bmm.Client, siteID string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.sites, site{api.Account(), siteID})
}

func (s *shelf) matching(now, notBefore time.Time, match func(*bmm.Instance) bool) (found []bmm.Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, known := range s.instances {
		if !known.at.Before(notBefore) && match(&known.instance) {
			s.asked[id] = now
			found = append(found, known.instance)
		}
	}
	return found
}
