package topology

import (
	"encoding/binary"
	"net/netip"
)

// What is used between the routers of a group and by its DHCP relays. It is seen nowhere else, and the same in every group.
// RFC 3927 reserves the first and the last /24 of linkLocal.
var (
	linkLocal = netip.MustParsePrefix("169.254.0.0/16")
	linksIPv4 = netip.MustParsePrefix("169.254.0.0/17")
	linksIPv6 = netip.MustParsePrefix("fdbe:d91a:7e00::/62")
)

// There are 2¹³ − 2⁶ networks of 4 addresses in linksIPv4, without those that are reserved.
const (
	reservedLinks = 1 << 6
	linkCount     = 1<<13 - reservedLinks
)

// link is the network of one IP version between the logical router and a gateway router.
type link struct {
	router, gateway netip.Prefix
}

// Link is the network between the logical router and a member's gateway router that one of the member's addresses is routed
// over.
func (t *Topology) Link(a Address) netip.Prefix { return t.links[a.HostIP].router.Masked() }

// connect gives each member its links. They follow from the host's addresses, so that they don't depend on other members.
// Only in an IPv4 network with more than linkCount addresses, larger than a /20, can two hosts get the same one. There the
// younger one takes the next that is free, and changes its link when the older one leaves.
func (t *Topology) connect() {
	taken := map[link]bool{}
	for _, m := range t.Members {
		for i, a := range m.Addresses {
			offset := offsetIn(t.Group.Networks[i].Prefix, a.HostIP)
			l := linkAt(a.HostIP, offset)
			for i := uint64(0); taken[l] && i < linkCount; i++ {
				offset++
				l = linkAt(a.HostIP, offset)
			}
			taken[l] = true
			t.links[a.HostIP] = l
		}
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
