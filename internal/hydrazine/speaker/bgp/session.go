package bgp

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

const (
	stateIdle        = "Idle"
	stateOpenConfirm = "OpenConfirm"
	stateEstablished = "Established"
)

// Session with a neighbor.
type Session struct {
	Neighbor netip.Addr
	State    string // by its name in RFC 4271
	Since    time.Time
	Message  string // why it isn't established, and what helps
}

// Established reports whether the neighbor gets routes.
func (s Session) Established() bool { return s.State == stateEstablished }

// Sessions returns all, ordered by neighbor.
func (s *Server) Sessions() []Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Session, 0, len(s.neighbors))
	for _, n := range s.neighbors {
		all = append(all, Session{Neighbor: n.Address, State: n.state, Since: n.since, Message: n.message()})
	}
	slices.SortFunc(all, func(a, b Session) int { return cmp.Or(a.Neighbor.Compare(b.Neighbor)) })
	return all
}

// Settled returns how long it may take until no neighbor has a route any more that is withdrawn now: 0 if each has got the
// withdrawal. One that can't get it forgets the route when its hold time and the restart time are over. Announcements to a
// removed neighbor count too, and so do those that another process may have made to neighbors that aren't known yet.
func (s *Server) Settled() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known {
		return settling
	}
	last := s.forgotten
	for _, n := range s.neighbors {
		when := n.forgotten
		if told := n.since.Add(settling); n.state == stateEstablished {
			when = told
		}
		if when.After(last) {
			last = when
		}
	}
	return max(0, time.Until(last))
}

// Memory returns how long neighbors may keep our routes, if they hear nothing more from now on: their hold time, and then the restart
// time, as the sessions have them.
func (s *Server) Memory() (longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.neighbors {
		if n.open {
			longest = max(longest, n.HoldTime+s.identity.restartTime)
		}
	}
	return longest
}
