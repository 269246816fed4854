package topology

import (
	"encoding/binary"
	"net/netip"
)

// The networks between the logical router and the gateway routers. They are seen nowhere else; the same ones are used in
// every group.
var (
	linksIPv4 = netip.MustParsePrefix("169.254.0.0/16")
	linksIPv6 = netip.MustParsePrefix("fdbe:d91a:7e00::/62")
)

// RFC 3927 reserves the first and the last /24 of linksIPv4, so there are 2¹⁴ − 2·64 networks of 4 addresses.
const (
	reservedLinks = 64
	linkCount     = 1<<14 - 2*reservedLinks
)

// link is the network between the logical router and a gateway router.
type link struct {
	router, gateway netip.Prefix
}

// Link is the network between the logical router and a member's gateway router.
func (t *Topology) Link(m Member) netip.Prefix { return t.links[m.UID].router.Masked() }

// connect gives each member its link. It follows from the host's address, so that it doesn't depend on who else is there.
// Only in a network with more than linkCount addresses, larger than a /19, can two hosts come upon the same one. There the
// younger one takes the next that is free, and changes its link when the older one leaves.
func (t *Topology) connect() {
	taken := map[link]bool{}
	for _, m := range t.Members {
		offset := offsetIn(t.Group.Network, m.HostIP)
		l := linkAt(m.HostIP, offset)
		for i := uint64(0); taken[l] && i < linkCount; i++ {
			offset++
			l = linkAt(m.HostIP, offset)
		}
		taken[l] = true
		t.links[m.UID] = l
	}
}

// offsetIn is the lower 64 bits of the address's number in the network.
func offsetIn(network netip.Prefix, a netip.Addr) uint64 {
	from, to := network.Addr().As16(), a.As16()
	return binary.BigEndian.Uint64(to[8:]) - binary.BigEndian.Uint64(from[8:])
}

// linkAt is the link number i of a host's IP version.
func linkAt(host netip.Addr, i uint64) link {
	if host.Is4() {
		base := linksIPv4.Addr().As4()
		binary.BigEndian.PutUint16(base[2:], uint16(reservedLinks+i%linkCount)*4)
		return linkOf(netip.AddrFrom4(base), 30)
	}
	base := linksIPv6.Addr().As16()
	binary.BigEndian.PutUint64(base[8:], i<<2)
	base[7] |= byte(i >> 62)
	return linkOf(netip.AddrFrom16(base), 126)
}

func linkOf(network netip.Addr, bits int) link {
	router := network.Next()
	return link{netip.PrefixFrom(router, bits), netip.PrefixFrom(router.Next(), bits)}
}
