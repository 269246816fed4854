package bgp

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// silent is the reason if packets of a session get lost although there is a connection. A router with TTL security drops what it
// gets from a speaker without, from the moment on in which it has accepted the connection: so there may even be a session, for a
// hold time.
const silent = "the hold timer expired without a message from the neighbor: check that packets pass in both directions, and that both ends have TTL " +
	"security (ttlSecurity), or none"

// heard records what GoBGP reports of a neighbor only in its log.
func (s *Server) heard(address netip.Addr, e entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.neighbors[address]
	if n == nil || !n.open || n.state == stateEstablished {
		return
	}
	reason := e.reason(n.Neighbor, s.identity.asn)
	if reason == "" || reason == n.reason {
		return
	}
	n.reason = reason
	s.changed()
}

// reason why a session isn't established.
func (e entry) reason(n Neighbor, asn uint32) string {
	at := netip.AddrPortFrom(n.Address, n.Port)
	switch {
	case e.message == "failed to connect" && strings.Contains(e.err, "refused"):
		return fmt.Sprintf("%s refuses connections: see that it runs BGP", at)
	case e.message == "failed to connect" && strings.Contains(e.err, "timeout"):
		return fmt.Sprintf("%s doesn't answer: see that packets get there and back, and that both ends have the same "+
			"password, or none (passwordSecret), and TTL security, or none (ttlSecurity)", at)
	case e.message == "failed to connect":
		return fmt.Sprintf("no connection to %s: %s", at, lastPart(e.err))
	case e.message == "outgoing connection IO error":
		return fmt.Sprintf("%s closes the connection: make this speaker a neighbor there", at)
	case e.message == "sent notification" && e.code == bgp.BGP_ERROR_OPEN_MESSAGE_ERROR && e.subcode == bgp.BGP_ERROR_SUB_BAD_PEER_AS:
		return fmt.Sprintf("%s isn't in the autonomous system %d: correct the neighbor's asn", n.Address, n.ASN)
	case e.message == "sent notification" && e.code == bgp.BGP_ERROR_OPEN_MESSAGE_ERROR && e.subcode == bgp.BGP_ERROR_SUB_BAD_BGP_IDENTIFIER:
		return fmt.Sprintf("%s has the router ID of this speaker: give the speaker another one (--router-id)", n.Address)
	case e.message == "sent notification" && e.code == bgp.BGP_ERROR_FSM_ERROR: // in answer to a NOTIFICATION
		return refused(n.Address, asn)
	case e.message == "sent notification" && e.code == bgp.BGP_ERROR_HOLD_TIMER_EXPIRED:
		return silent
	case e.message == "sent notification":
		return "this speaker closed the connection: " + bgp.NewNotificationErrorCode(e.code, e.subcode).String()
	}
	return ""
}

// lastPart of an error of the network: the rest is known.
func lastPart(err string) string {
	return err[strings.LastIndex(err, ": ")+1:]
}

// reasonOf is the text of an event of GoBGP, if it says why a session isn't established.
func reasonOf(state apiutil.PeerState, asn uint32) string {
	switch state.DisconnectReason {
	case api.PeerState_DISCONNECT_REASON_NOTIFICATION_RECEIVED:
		if strings.Contains(state.DisconnectMessage, badPeerAS) {
			return refused(state.NeighborAddress, asn)
		}
		return "the neighbor closed the session: " + notification(state.DisconnectMessage)
	case api.PeerState_DISCONNECT_REASON_INVALID_MSG:
		return refused(state.NeighborAddress, asn)
	case api.PeerState_DISCONNECT_REASON_NOTIFICATION_SENT:
		return "this speaker closed the session: " + notification(state.DisconnectMessage)
	case api.PeerState_DISCONNECT_REASON_HOLD_TIMER_EXPIRED:
		return silent
	case api.PeerState_DISCONNECT_REASON_READ_FAILED, api.PeerState_DISCONNECT_REASON_WRITE_FAILED,
		api.PeerState_DISCONNECT_REASON_GRACEFUL_RESTART:
		// with graceful restart also when the hold timer expired
		return "the connection was lost: check that the neighbor runs, that packets pass in both directions, and that both ends have TTL security " +
			"(ttlSecurity), or none"
	case api.PeerState_DISCONNECT_REASON_BAD_PEER_AS:
		return fmt.Sprintf("the neighbor isn't in the autonomous system %d: correct its asn", state.PeerASN)
	default:
		return ""
	}
}

// refused is what a NOTIFICATION in answer to our OPEN means. GoBGP doesn't say what is in it.
func refused(neighbor netip.Addr, asn uint32) string {
	return fmt.Sprintf("%s refuses this speaker: check that this speaker is configured there with the autonomous system %d (remote-as)", neighbor, asn)
}

// tooMuch is why a neighbor is left alone for a while.
func tooMuch(n Neighbor) string {
	return fmt.Sprintf("%s announces more than %d prefixes of one IP version, and this speaker needs none: let it announce nothing "+
		"to this speaker, or raise maxPrefixes. The session is tried again after %s, and at once when the neighbor's entry changes",
		n.Address, n.maxPrefixes(), limitPause)
}

var badPeerAS = bgp.NewNotificationErrorCode(bgp.BGP_ERROR_OPEN_MESSAGE_ERROR, bgp.BGP_ERROR_SUB_BAD_PEER_AS).String()

func notification(message string) string {
	return strings.TrimPrefix(strings.TrimPrefix(message, "notification-received "), "notification-sent ")
}

// message of a session, for its status.
func (n *neighbor) message() string {
	switch {
	case n.Problem != "":
		return n.Problem
	case n.state == stateEstablished:
		return ""
	case n.reason != "":
		return n.reason
	case n.state == stateOpenConfirm:
		return "the neighbor opened the session, but doesn't continue it: check that both ends have TTL security (ttlSecurity), or none"
	default:
		return "the session is being opened"
	}
}
