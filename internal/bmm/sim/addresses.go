package sim

import (
	"encoding/binary"
	"net/netip"
)

// freePrefix returns the first free range of the given length in an IPv4 block.
func freePrefix(block netip.Prefix, length int, used []netip.Prefix) (netip.Prefix, bool) {
	if length < block.Bits() {
		return netip.Prefix{}, false
	}
	for candidate := netip.PrefixFrom(block.Addr(), length); block.Overlaps(candidate); {
		taken, overlaps := overlapping(candidate, used)
		if !overlaps {
			return candidate, true
		}
		// Go on behind the larger of the two.
		next := last(candidate)
		if end := last(taken); next.Less(end) {
			next = end
		}
		if next = next.Next(); !next.IsValid() {
			break
		}
		candidate = netip.PrefixFrom(next, length)
	}
	return netip.Prefix{}, false
}

func overlapping(p netip.Prefix, used []netip.Prefix) (netip.Prefix, bool) {
	for _, u := range used {
		if u.Overlaps(p) {
			return u, true
		}
	}
	return netip.Prefix{}, false
}

// last returns the last address of an IPv4 range, its broadcast address.
func last(p netip.Prefix) netip.Addr {
	first := p.Addr().As4()
	host := uint32(1)<<(32-p.Bits()) - 1
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(first[:])|host)
	return netip.AddrFrom4(b)
}

// gateway is the first address behind the network address.
func gateway(p netip.Prefix) netip.Addr { return p.Addr().Next() }

// freeAddress returns the first free address of a subnet, behind its gateway and before its broadcast address.
func freeAddress(p netip.Prefix, used map[netip.Addr]bool) (netip.Addr, bool) {
	for addr := gateway(p).Next(); addr.Less(last(p)); addr = addr.Next() {
		if !used[addr] {
			return addr, true
		}
	}
	return netip.Addr{}, false
}

// freeHostAddress returns the first free address of a VPC prefix. Each interface has a pair of addresses there, of which
// the odd one is the host's.
func freeHostAddress(p netip.Prefix, used map[netip.Addr]bool) (netip.Addr, bool) {
	for addr := p.Addr().Next(); p.Contains(addr); addr = addr.Next().Next() {
		if !used[addr] {
			return addr, true
		}
	}
	return netip.Addr{}, false
}

// isHostAddress reports whether it is the odd one of a pair.
func isHostAddress(addr netip.Addr) bool { return addr.Is4() && addr.As4()[3]&1 == 1 }

// usedPrefixes are the ranges that subnets and VPC prefixes of a site have.
func (s *Server) usedPrefixes(siteID string) []netip.Prefix {
	var used []netip.Prefix
	for _, n := range s.state.subnets.Items {
		if n.siteID == siteID {
			used = append(used, n.prefix)
		}
	}
	for _, p := range s.state.prefixes.Items {
		if p.siteID == siteID {
			used = append(used, p.prefix)
		}
	}
	return used
}

// usedAddresses are those of the instances of a site.
func (s *Server) usedAddresses(siteID string) map[netip.Addr]bool {
	used := map[netip.Addr]bool{}
	for _, i := range s.state.instances.Items {
		for _, n := range i.interfaces {
			if i.siteID == siteID {
				used[n.address] = true
			}
		}
	}
	return used
}
