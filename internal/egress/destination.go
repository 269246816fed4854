package egress

import (
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Destination is what an operator allows: a name, all names below a domain, an address or a range of them; at one port or at
// all.
type Destination struct {
	name   string // empty for addresses
	below  bool   // not the name itself but those that end in it
	prefix netip.Prefix
	port   string // empty for all
}

// ParseDestination reads one of: bmm.example.com, *.example.com, 192.0.2.1, 192.0.2.0/24, 2001:db8::/32; each with or without a
// port: bmm.example.com:8443, [2001:db8::/32]:8443.
func ParseDestination(text string) (Destination, bool) {
	var d Destination
	host := text
	if h, port, err := net.SplitHostPort(text); err == nil {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 {
			return d, false
		}
		host, d.port = h, strconv.FormatUint(number, 10)
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		d.prefix = netip.PrefixFrom(addr, addr.BitLen())
		return d, addr.Zone() == ""
	}
	if strings.Contains(host, "/") {
		var ok bool
		d.prefix, ok = ParsePrefix(host)
		return d, ok
	}
	d.name, d.below = strings.CutPrefix(normal(host), "*.")
	return d, isName(d.name)
}

// ParsePrefix reads a range of addresses: 192.0.2.0/24, and not 192.0.2.1/24, which is ambiguous.
func ParsePrefix(text string) (netip.Prefix, bool) {
	prefix, err := netip.ParsePrefix(text)
	return prefix, err == nil && prefix == prefix.Masked() && !prefix.Addr().Is4In6()
}

func (d Destination) isAt(port string) bool { return d.port == "" || d.port == port }

func (d Destination) contains(addr netip.Addr) bool { return d.name == "" && d.prefix.Contains(addr) }

func (d Destination) matches(host string) bool {
	switch {
	case d.name == "":
		return false
	case d.below:
		return strings.HasSuffix(host, "."+d.name)
	}
	return host == d.name
}

// normal is the form in which names are compared.
func normal(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

var (
	namePattern   = regexp.MustCompile(`^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)
	numberPattern = regexp.MustCompile(`(^|\.)([0-9]+|0x[0-9a-f]*)$`)
)

// isName is false for what isn't ASCII, which might become an address on its way, and for what some take for one: 127.1 or
// 0x7f000001.
func isName(host string) bool {
	return len(host) < 254 && namePattern.MatchString(host) && !numberPattern.MatchString(host)
}

// isLoopback reports whether a host is written so that it is the own one.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && canonical(addr).IsLoopback()
}

// isOfCluster reports whether a name is one that only the own host or the own cluster knows. Tenants must not learn
// whether there is such a name.
func isOfCluster(host string) bool {
	return !strings.Contains(host, ".") || slices.ContainsFunc([]string{".localhost", ".svc", ".cluster.local"}, func(domain string) bool {
		return strings.HasSuffix(host, domain)
	})
}
