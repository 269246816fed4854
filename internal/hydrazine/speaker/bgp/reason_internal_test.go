package bgp

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// A router with TTL security accepts the connection of a speaker without, and then drops what it says.
func TestReason_ofANeighborThatHearsNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	expired := entry{message: "sent notification", code: bgp.BGP_ERROR_HOLD_TIMER_EXPIRED}
	g.Expect(expired.reason(Neighbor{Address: netip.MustParseAddr("172.18.0.1"), Port: 179}, 65000)).To(ContainSubstring("ttlSecurity"))
}
