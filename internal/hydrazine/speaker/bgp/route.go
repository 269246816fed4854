package bgp

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/server"
)

const originIGP = 0

func announce(gobgp *server.BgpServer, prefix netip.Prefix, nextHop netip.Addr) error {
	path, err := pathOf(prefix, nextHop)
	if err == nil {
		_, err = gobgp.AddPath(apiutil.AddPathRequest{Paths: []*apiutil.Path{path}})
	}
	if err != nil {
		return fmt.Errorf("announce %s by %s: %w", prefix, nextHop, err)
	}
	return nil
}

// pathOf is a route as GoBGP has it. The next hop of a route of our own is sent to every neighbor unchanged.
func pathOf(prefix netip.Prefix, nextHop netip.Addr) (*apiutil.Path, error) {
	nlri, err := bgp.NewIPAddrPrefix(prefix)
	if err != nil {
		return nil, err
	}
	family := bgp.RF_IPv4_UC
	var hop bgp.PathAttributeInterface
	if prefix.Addr().Is4() {
		hop, err = bgp.NewPathAttributeNextHop(nextHop)
	} else {
		family = bgp.RF_IPv6_UC
		hop, err = bgp.NewPathAttributeMpReachNLRI(family, []bgp.PathNLRI{{NLRI: nlri}}, nextHop)
	}
	if err != nil {
		return nil, err
	}
	return &apiutil.Path{
		Family: family, Nlri: nlri, Age: time.Now().Unix(),
		Attrs: []bgp.PathAttributeInterface{bgp.NewPathAttributeOrigin(originIGP), hop},
	}, nil
}
