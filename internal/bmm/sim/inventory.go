package sim

import "time"

// A site is taken inventory of at fixed times, and the service hears of each inventory a while later: what it learns then may
// be older than what clients have changed meanwhile.

// taken is when the last inventory before a time was taken.
func (s *Server) taken(at time.Time) time.Time {
	interval := s.config.Times.Inventory.Duration
	first := s.state.started.Add(s.config.Times.InventoryPhase.Duration - 2*interval) // none is asked for that is older
	return first.Add(at.Sub(first) / interval * interval)
}

// inventory is when the last inventory was taken that the service has heard of.
func (s *Server) inventory(now time.Time) time.Time {
	return s.taken(now.Add(-s.config.Times.InventoryDelay.Duration))
}

// heard is when the service hears of an inventory.
func (s *Server) heard(taken time.Time) time.Time {
	return taken.Add(s.config.Times.InventoryDelay.Duration)
}

// seen is when the service hears of what is made at a site now.
func (s *Server) seen(now time.Time) time.Time {
	return s.heard(s.taken(now).Add(s.config.Times.Inventory.Duration))
}

// outdate keeps showing clients an object as it was before a change, for Times.ViewLag.
func (s *Server) outdate(o *object, before any, now time.Time) {
	if lag := s.config.Times.ViewLag.Duration; lag > 0 && !now.Before(o.beforeUntil) {
		o.before, o.beforeUntil = before, now.Add(lag)
	}
}

// asSeen is an object as clients see it that haven't changed it just now.
func asSeen[R resource, V any](view func(R, time.Time) V) func(R, time.Time) V {
	return func(r R, now time.Time) V {
		if o := r.base(); now.Before(o.beforeUntil) && o.Deleted.IsZero() {
			return o.before.(V)
		}
		return view(r, now)
	}
}
