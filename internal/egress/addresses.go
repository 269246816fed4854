package egress

import (
	"net/netip"
	"slices"
)

// never are the ranges where no service is that a manager has to call, and much that it must not.
var never = prefixes(
	"0.0.0.0/8",          // "this network": 0.0.0.0 is the own host
	"127.0.0.0/8",        // loopback
	"169.254.0.0/16",     // link-local, with the metadata services of most clouds
	"168.63.129.16/32",   // Azure's
	"100.100.100.200/32", // Alibaba Cloud's
	"192.0.0.0/24",       // protocol assignments, with Oracle's
	"224.0.0.0/4",        // multicast
	"240.0.0.0/4",        // reserved, with broadcast
	"::/96",              // unspecified, loopback, and IPv4 in a form that was given up
	"fe80::/10",          // link-local
	"fec0::/10",          // site-local, given up
	"ff00::/8",           // multicast
	"fd00:ec2::/32",      // metadata services: AWS
	"fd20:ce::/32",       // and Google
	"2001::/32",          // tunnels with an IPv4 address in them: Teredo
	"2002::/16",          // and 6to4
)

// Inside are the ranges that a list of names doesn't allow.
func Inside() []netip.Prefix { return slices.Clone(never) }

// nat64 are the ranges whose last 32 bits are the IPv4 address that is called (RFC 6052, RFC 8215).
var nat64 = prefixes("64:ff9b::/96", "64:ff9b:1::/48")

// canonical is the address that is called in the end, in its one form. A zone would make each range not contain it.
func canonical(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if contain(nat64, addr) {
		bytes := addr.As16()
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return addr
}

func contain(ranges []netip.Prefix, addr netip.Addr) bool {
	for _, r := range ranges {
		if r.Contains(addr) {
			return true
		}
	}
	return false
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}
