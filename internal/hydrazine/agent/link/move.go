package link

import (
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

var families = []int{netlink.FAMILY_V4, netlink.FAMILY_V6}

// MoveAddresses gives the bridge the addresses and routes that its uplink has, and removes them there. At every moment
// at least one of them has each, so it can be interrupted and done again. What the kernel creates by itself stays.
func MoveAddresses(uplink, bridge string) error {
	from, err := netlink.LinkByName(uplink)
	if err != nil {
		return fmt.Errorf("look at %s: %w", uplink, err)
	}
	to, err := netlink.LinkByName(bridge)
	if err != nil {
		return fmt.Errorf("look at %s: %w", bridge, err)
	}
	for _, family := range families {
		if err := moveFamily(from, to, family); err != nil {
			return fmt.Errorf("move the addresses of %s to %s: %w", uplink, bridge, err)
		}
	}
	return nil
}

func moveFamily(from, to netlink.Link, family int) error {
	addresses, err := netlink.AddrList(from, family)
	if err != nil {
		return err
	}
	addresses = slices.DeleteFunc(addresses, func(a netlink.Addr) bool {
		return a.Scope != unix.RT_SCOPE_UNIVERSE || family == netlink.FAMILY_V6 && a.Flags&unix.IFA_F_PERMANENT == 0
	})
	for _, a := range addresses {
		moved := netlink.Addr{IPNet: a.IPNet, Broadcast: a.Broadcast, Flags: a.Flags & unix.IFA_F_NODAD}
		if family == netlink.FAMILY_V6 {
			moved.Flags |= unix.IFA_F_NODAD // the uplink has it already, so it isn't a duplicate
		}
		if err := netlink.AddrReplace(to, &moved); err != nil {
			return fmt.Errorf("add %s: %w", a.IPNet, err)
		}
	}
	routes, err := netlink.RouteList(from, family)
	if err != nil {
		return err
	}
	// Routes to a network come before those through a router in it.
	slices.SortStableFunc(routes, func(a, b netlink.Route) int { return len(a.Gw) - len(b.Gw) })
	for _, r := range routes {
		if r.Protocol == unix.RTPROT_KERNEL || r.Protocol == unix.RTPROT_RA {
			continue
		}
		r.LinkIndex = to.Attrs().Index
		if err := netlink.RouteReplace(&r); err != nil {
			return fmt.Errorf("set the route %s: %w", r, err)
		}
	}
	for _, a := range addresses {
		if err := netlink.AddrDel(from, &a); err != nil {
			return fmt.Errorf("take %s away from %s: %w", a.IPNet, from.Attrs().Name, err)
		}
	}
	return nil
}
