package sim

import (
	"context"
	"time"
)

// draft is an object that may be made: what is left to do when the site has done its part.
type draft[R resource] struct {
	siteID string
	lock   lock
	commit func(now time.Time) (R, error)
}

// drafter checks a request for a new object. Server.mu is held.
type drafter[Q any, R resource] func(m maker, request Q, now time.Time) (draft[R], error)

// create makes an object as the real service does: it checks, waits for the site, and commits without checking again
// whether the name is free. What it does when the client is gone by then is said by Config.Abandoned.
func create[Q any, R resource, V any](
	ctx context.Context, s *Server, kind *store[R], drafts drafter[Q, R], request Q, view func(R, time.Time) V,
) (V, error) {
	defer s.creates()()
	var v V
	var plan draft[R]
	err := s.change(func(now time.Time) (err error) {
		plan, err = drafts(s.me(), request, now)
		return err
	})
	if err != nil {
		return v, err
	}
	unlock, err := s.lock(plan.lock)
	if err != nil {
		return v, err
	}
	if err := s.workflow(ctx, plan.siteID); err != nil {
		unlock()
		return v, err
	}
	if abandoned := ctx.Err(); abandoned != nil && s.config.Abandoned != AbandonedCommitted {
		unlock()
		if s.config.Abandoned == AbandonedAtSite {
			ended := s.creates()
			go s.Run(func() { defer ended(); strand(s, kind, plan) })
		}
		return v, abandoned
	}
	defer unlock()
	err = s.change(func(now time.Time) error {
		r, err := plan.commit(now)
		if err == nil {
			kind.Add(r)
			v = view(r, now)
		}
		return err
	})
	return v, err
}

// creates counts a create until it has ended.
func (s *Server) creates() (ended func()) {
	s.view(func(time.Time) { s.state.creating++ })
	return func() { s.view(func(time.Time) { s.state.creating-- }) }
}

// strand lets the site bring to its end what the service has rolled back.
func strand[R resource](s *Server, kind *store[R], plan draft[R]) {
	if s.Wait(s.config.Times.Create.Duration) != nil {
		return
	}
	s.view(func(now time.Time) {
		if r, err := plan.commit(now); err == nil {
			s.state.strays = append(s.state.strays, stray{kind.what, r})
		}
	})
}

// edit checks a change, and returns the site that must hear of it and what is to be done. Server.mu is held.
type edit func(now time.Time) (siteID string, apply func(), err error)

// alter makes a change, unless it is refused or the site can't be reached.
func (s *Server) alter(e edit) error {
	var siteID string
	err := s.change(func(now time.Time) (err error) {
		siteID, _, err = e(now)
		return err
	})
	if err == nil {
		err = s.reach(siteID)
	}
	if err != nil {
		return err
	}
	return s.change(func(now time.Time) error {
		_, apply, err := e(now)
		if err == nil {
			apply()
		}
		return err
	})
}

// rename gives one of the tenant's objects another name, of which the site doesn't know.
func rename[R resource, V any](s *Server, kind *store[R], id, name string, view func(R, time.Time) V) (v V, _ error) {
	return v, s.change(func(now time.Time) error {
		r, err := kind.get(s.config.Tenant.ID, id)
		if err == nil {
			err = kind.checkName(r, name)
		}
		if err != nil {
			return err
		}
		r.base().describe(name, nil, nil)
		r.base().Changed = now
		v = view(r, now)
		return nil
	})
}

// remove deletes one of the tenant's objects, unless something still needs it.
func remove[R resource](s *Server, kind *store[R], id string, takes time.Duration, needed func(R) error) error {
	return s.alter(func(now time.Time) (string, func(), error) {
		r, err := kind.get(s.config.Tenant.ID, id)
		if err == nil {
			err = needed(r)
		}
		if err != nil {
			return "", nil, err
		}
		return r.base().siteID, func() { r.base().Delete(now, takes) }, nil
	})
}
