package bgp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// How GoBGP ends such a session is tested with cmd/hydrazine-speaker.
func TestServer_leavesANeighborAloneThatAnnouncesTooMuch(t *testing.T) {
	g := NewWithT(t)
	s := New(logr.Discard(), func() {})
	t.Cleanup(func() { g.Expect(s.Close()).To(Succeed()) })
	address := netip.MustParseAddr("127.0.0.2")
	config := Config{
		ASN: 64512, RouterID: netip.MustParseAddr("127.0.0.1"), RestartTime: time.Minute,
		Neighbors: []Neighbor{{Address: address, ASN: 65000, Port: 1, HoldTime: 30 * time.Second, Hops: 1}},
	}
	configure := func() {
		t.Helper()
		g.Expect(s.Configure(config)).To(Succeed())
	}
	inspect := func(look func(n *neighbor)) {
		s.mu.Lock()
		defer s.mu.Unlock()
		look(s.neighbors[address])
	}
	tooMany := func() {
		t.Helper()
		inspect(func(n *neighbor) { n.state = stateEstablished })
		s.peerChanged(&apiutil.WatchEventMessage_PeerEvent{Type: apiutil.PEER_EVENT_STATE, Peer: apiutil.Peer{State: apiutil.PeerState{
			NeighborAddress: address, SessionState: bgp.BGP_FSM_IDLE, AdminState: api.PeerState_ADMIN_STATE_PFX_CT,
			DisconnectReason: api.PeerState_DISCONNECT_REASON_GRACEFUL_RESTART,
		}}}, time.Now())
		inspect(func(n *neighbor) { g.Expect(n.open).To(BeFalse()) })
	}
	configure()
	tooMany()
	configure()
	inspect(func(n *neighbor) { g.Expect(n.open).To(BeFalse()) })
	g.Expect(s.Sessions()).To(HaveExactElements(And(HaveField("State", "Idle"),
		HaveField("Message", HavePrefix("127.0.0.2 announces more than 1000 prefixes of one IP version")))))
	g.Expect(s.Settled()).To(BeNumerically(">", 0), "it may not have heard that the session has ended")

	inspect(func(n *neighbor) { n.paused = time.Now().Add(-time.Second) })
	configure()
	inspect(func(n *neighbor) { g.Expect(n.open).To(BeTrue(), "the pause is over") })

	tooMany()
	config.Neighbors[0].MaxPrefixes = 2000
	configure()
	inspect(func(n *neighbor) { g.Expect(n.open).To(BeTrue(), "its entry has changed") })
}
