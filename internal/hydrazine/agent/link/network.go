package link

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Addresses returns the addresses of an interface that reach beyond its own link. Without the interface there are none.
func Addresses(name string) ([]netip.Prefix, error) {
	l, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", name, err)
	}
	list, err := netlink.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("list the addresses of %s: %w", name, err)
	}
	var found []netip.Prefix
	for _, a := range list {
		if ip, ok := netip.AddrFromSlice(a.IP); ok && a.Scope == unix.RT_SCOPE_UNIVERSE {
			length, _ := a.Mask.Size()
			found = append(found, netip.PrefixFrom(ip.Unmap(), length))
		}
	}
	return found, nil
}

// Gateways returns the next hops of all routes by an interface: first those of the default routes, in the order of preference, of each of
// which there may be several, then those of the others.
func Gateways(name string) (ofDefault, others []netip.Addr, err error) {
	l, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look at %s: %w", name, err)
	}
	for _, family := range families {
		// Of all tables, and not by the interface: a route with several next hops has none itself.
		routes, err := netlink.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
		if err != nil {
			return nil, nil, fmt.Errorf("list the routes of %s: %w", name, err)
		}
		slices.SortStableFunc(routes, func(a, b netlink.Route) int { return cmp.Compare(a.Priority, b.Priority) })
		for _, r := range routes {
			if isDefault(r) {
				ofDefault = append(ofDefault, hops(r, l.Attrs().Index)...)
			} else {
				others = append(others, hops(r, l.Attrs().Index)...)
			}
		}
	}
	return unique(ofDefault), unique(others), nil
}

// hops of a route by an interface.
func hops(r netlink.Route, by int) (found []netip.Addr) {
	for _, hop := range append([]*netlink.NexthopInfo{{LinkIndex: r.LinkIndex, Gw: r.Gw, Via: r.Via}}, r.MultiPath...) {
		ip := hop.Gw
		if via, ok := hop.Via.(*netlink.Via); ok {
			ip = via.Addr // of the other IP version
		}
		if gateway, ok := netip.AddrFromSlice(ip); ok && hop.LinkIndex == by {
			found = append(found, gateway.Unmap())
		}
	}
	return found
}

// unique keeps the first one of each.
func unique(all []netip.Addr) (found []netip.Addr) {
	for _, a := range all {
		if !slices.Contains(found, a) {
			found = append(found, a)
		}
	}
	return found
}

func isDefault(r netlink.Route) bool {
	if r.Dst == nil {
		return true
	}
	length, _ := r.Dst.Mask.Size()
	return length == 0 && r.Dst.IP.IsUnspecified()
}
