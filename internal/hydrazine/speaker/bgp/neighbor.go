package bgp

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

const (
	// connectRetry is how often a neighbor is dialled.
	connectRetry = 5 * time.Second
	// deferral is how long GoBGP waits for the routes of all neighbors before it sends ours, after a restart. We accept none
	// of theirs, so it is the shortest possible.
	deferral = time.Second
	// limitPause is how long a neighbor that announces too much is left alone. The limit is reached only after it has got our
	// routes, and with the end of the session it forgets them: so the pause is long.
	limitPause = 5 * time.Minute
	// farthest is the TTL that a packet starts with where its distance counts (RFC 5082).
	farthest = 255
	// settling is after how long a new session has certainly got all routes, and the end-of-RIB marker.
	settling = 3 * deferral
)

// neighbor is a configured one, and its state.
type neighbor struct {
	Neighbor
	open   bool // GoBGP has it
	state  string
	since  time.Time
	reason string // why it isn't established, if that is known
	// forgotten is when the neighbor has forgotten the routes of a session that has ended.
	forgotten time.Time
	paused    time.Time // until then it isn't dialled, as it announces too much
}

// setNeighbors opens and closes sessions.
func (s *Server) setNeighbors(wanted []Neighbor) error {
	now := time.Now()
	keep := map[netip.Addr]bool{}
	for _, want := range wanted {
		keep[want.Address] = true
		n := s.neighbors[want.Address]
		if n == nil {
			n = &neighbor{Neighbor: want, state: stateIdle, since: now}
			// Another process may have announced something to it just before.
			n.forgotten = now.Add(want.HoldTime + s.identity.restartTime)
			s.neighbors[want.Address] = n
		}
		if want.Problem != "" {
			n.Problem = want.Problem
			continue
		}
		if n.open && !n.sameSession(want) {
			if err := s.closeSession(n, now); err != nil {
				return err
			}
		}
		if !n.sameSession(want) {
			n.paused = time.Time{}
		}
		n.Neighbor = want
		if !n.open && !now.Before(n.paused) {
			if err := s.openSession(n); err != nil {
				return err
			}
		}
	}
	for address, n := range s.neighbors {
		if !keep[address] {
			if err := s.forget(n, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameSession reports whether a session serves for another configuration too.
func (n *neighbor) sameSession(want Neighbor) bool {
	is := n.Neighbor
	is.Problem, want.Problem = "", ""
	return is == want
}

func (s *Server) forget(n *neighbor, now time.Time) error {
	if n.open {
		if err := s.closeSession(n, now); err != nil {
			return err
		}
	}
	if n.forgotten.After(s.forgotten) {
		s.forgotten = n.forgotten
	}
	delete(s.neighbors, n.Address)
	return nil
}

func (s *Server) openSession(n *neighbor) error {
	if err := s.gobgp.AddPeer(context.Background(), &api.AddPeerRequest{Peer: s.peer(n.Neighbor)}); err != nil {
		return fmt.Errorf("open the session with %s: %w", n.Address, err)
	}
	n.open, n.reason = true, ""
	return nil
}

// closeSession sends a NOTIFICATION, by which the neighbor forgets the routes at once.
func (s *Server) closeSession(n *neighbor, now time.Time) error {
	if err := s.gobgp.DeletePeer(context.Background(), &api.DeletePeerRequest{Address: n.Address.String()}); err != nil {
		return fmt.Errorf("close the session with %s: %w", n.Address, err)
	}
	n.closed(now, s.identity.restartTime, true)
	return nil
}

// closed records that there is no session any more. Notified is whether the neighbor got a NOTIFICATION.
func (n *neighbor) closed(now time.Time, restartTime time.Duration, notified bool) {
	if n.state == stateEstablished {
		n.forgotten = now.Add(n.HoldTime + restartTime)
		if notified {
			n.forgotten = now.Add(settling)
		}
	}
	n.open, n.state, n.since, n.reason, n.paused = false, stateIdle, now, "", time.Time{}
}

// peer is a neighbor as GoBGP has it.
func (s *Server) peer(n Neighbor) *api.Peer {
	peer := &api.Peer{
		Conf: &api.PeerConf{
			NeighborAddress: n.Address.String(), PeerAsn: n.ASN, LocalAsn: s.identity.asn, AuthPassword: n.Password,
		},
		Transport: &api.Transport{RemotePort: uint32(n.Port)},
		Timers: &api.Timers{Config: &api.TimersConfig{
			HoldTime: seconds(n.HoldTime), KeepaliveInterval: seconds(n.HoldTime) / 3, ConnectRetry: seconds(connectRetry),
		}},
		TtlSecurity:  &api.TtlSecurity{Enabled: n.TTLSecurity, TtlMin: farthest + 1 - uint32(max(1, n.Hops))},
		EbgpMultihop: &api.EbgpMultihop{Enabled: n.Hops > 1 && !n.TTLSecurity, MultihopTtl: uint32(n.Hops)}, // GoBGP refuses both
		GracefulRestart: &api.GracefulRestart{
			Enabled: true, RestartTime: uint32(seconds(s.identity.restartTime)), //nolint:gosec // at most an hour
			DeferralTime: uint32(deferral / time.Second), LocalRestarting: true,
		},
	}
	for _, afi := range []api.Family_Afi{api.Family_AFI_IP, api.Family_AFI_IP6} {
		family := &api.Family{Afi: afi, Safi: api.Family_SAFI_UNICAST}
		peer.AfiSafis = append(peer.AfiSafis, &api.AfiSafi{
			Config:            &api.AfiSafiConfig{Family: family, Enabled: true},
			PrefixLimits:      &api.PrefixLimit{Family: family, MaxPrefixes: n.maxPrefixes()},
			MpGracefulRestart: &api.MpGracefulRestart{Config: &api.MpGracefulRestartConfig{Enabled: true}},
		})
	}
	return peer
}

func seconds(d time.Duration) uint64 { return uint64(d / time.Second) } //nolint:gosec // never negative

// peerChanged handles GoBGP's event of a session.
func (s *Server) peerChanged(event *apiutil.WatchEventMessage_PeerEvent, _ time.Time) {
	if event.Type != apiutil.PEER_EVENT_STATE {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.neighbors[event.Peer.State.NeighborAddress]
	if n == nil || !n.open {
		return // it was closed in the meantime
	}
	was, now := n.state, time.Now()
	n.enter(stateOf(event.Peer.State.SessionState), now)
	if reason := reasonOf(event.Peer.State, s.identity.asn); reason != "" {
		n.reason = reason
	}
	if was == stateEstablished && n.state != stateEstablished {
		n.forgotten = now.Add(n.HoldTime + s.identity.restartTime)
		if event.Peer.State.AdminState == api.PeerState_ADMIN_STATE_PFX_CT {
			s.pause(n, now)
		} else {
			s.reopen(n)
		}
	}
	s.log.Info("session changed", "neighbor", n.Address, "state", n.state, "reason", n.reason)
	s.changed()
}

func (n *neighbor) enter(state string, now time.Time) {
	if state == n.state {
		return
	}
	n.state, n.since = state, now
	if state == stateEstablished {
		n.reason = ""
	}
}

// reopen replaces a session that was lost by a new one. GoBGP would open the old one again too, but only the first time does
// it signal that forwarding continued, and without that the neighbor forgets the routes at the start of the new session.
func (s *Server) reopen(n *neighbor) {
	err := s.gobgp.DeletePeer(context.Background(), &api.DeletePeerRequest{Address: n.Address.String()})
	if err == nil {
		err = s.gobgp.AddPeer(context.Background(), &api.AddPeerRequest{Peer: s.peer(n.Neighbor)})
	}
	if err != nil {
		n.open = false // the next Configure opens it
		s.log.Error(err, "open a lost session again", "neighbor", n.Address)
	}
}

// pause stops dialling a neighbor that has announced more than it may. GoBGP has sent it the NOTIFICATION for that.
func (s *Server) pause(n *neighbor, now time.Time) {
	if err := s.gobgp.DeletePeer(context.Background(), &api.DeletePeerRequest{Address: n.Address.String()}); err != nil {
		s.log.Error(err, "close the session with a neighbor that announces too much", "neighbor", n.Address)
	}
	n.open, n.paused = false, now.Add(limitPause)
	n.reason = tooMuch(n.Neighbor)
}

// stateOf names a state as RFC 4271 does.
func stateOf(state bgp.FSMState) string {
	switch state {
	case bgp.BGP_FSM_CONNECT:
		return "Connect"
	case bgp.BGP_FSM_ACTIVE:
		return "Active"
	case bgp.BGP_FSM_OPENSENT:
		return "OpenSent"
	case bgp.BGP_FSM_OPENCONFIRM:
		return stateOpenConfirm
	case bgp.BGP_FSM_ESTABLISHED:
		return stateEstablished
	default:
		return stateIdle
	}
}
