package provisioner

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// protocol marks our routes. Numbers from 5 on are free for routing daemons (rtnetlink(7)); iproute2 names none with this one.
	protocol = 217
	// defaultMetric of IPv6 is what the kernel makes of 0.
	defaultMetric = 1024
)

// setRoutes adds those that are missing in the main table, and deletes ours that aren't wanted. One of another program with the same
// destination and metric is a conflict that a person has to solve.
func setRoutes(index int, wanted Wanted) error {
	var problems []error
	keep := map[string]bool{}
	for _, w := range wanted.Routes {
		r := w.on(index)
		keep[r.key()] = true
		problems = append(problems, r.ensure())
	}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		own, err := netlink.RouteListFiltered(family, &netlink.Route{Protocol: protocol}, netlink.RT_FILTER_PROTOCOL)
		if err != nil {
			return fmt.Errorf("list the routes: %w", err)
		}
		for _, found := range own {
			r := route{found}
			if keep[r.key()] {
				continue
			}
			if err := netlink.RouteDel(&found); err != nil && !errors.Is(err, unix.ESRCH) {
				problems = append(problems, fmt.Errorf("delete the route %s: %w", r, err))
			}
		}
	}
	return errors.Join(problems...)
}

type route struct{ netlink.Route }

func (w Route) on(index int) route {
	r := route{netlink.Route{
		LinkIndex: index, Dst: ipNet(w.To), Gw: w.Gateway.AsSlice(), Priority: w.Metric, Protocol: protocol, Table: unix.RT_TABLE_MAIN,
	}}
	if w.To.Addr().Is6() && w.Metric == 0 {
		r.Priority = defaultMetric
	}
	return r
}

// slot is what two routes of a table can't have in common.
func (r route) slot() string { return fmt.Sprintf("%s metric %d", r.Dst, r.Priority) }

func (r route) key() string { return fmt.Sprintf("%s by %s, %d", r.slot(), r.Gw, r.LinkIndex) }

func (r route) String() string { return fmt.Sprintf("%s by %s", r.slot(), r.Gw) }

func (r route) ensure() error {
	family := netlink.FAMILY_V4
	if len(r.Gw) == 16 {
		family = netlink.FAMILY_V6
	}
	found, err := netlink.RouteListFiltered(family, &netlink.Route{Dst: r.Dst}, netlink.RT_FILTER_DST)
	if err != nil {
		return fmt.Errorf("list the routes to %s: %w", r.Dst, err)
	}
	change := netlink.RouteAdd
	for _, each := range found {
		other := route{each}
		switch {
		case other.key() == r.key():
			return nil
		case other.slot() != r.slot():
		case other.Protocol == protocol:
			change = netlink.RouteReplace
		default:
			return fmt.Errorf("there is another route to %s, which isn't ours: delete it, or give it another metric", other)
		}
	}
	if err := change(&r.Route); err != nil {
		return fmt.Errorf("add the route %s: %w", r, err)
	}
	return nil
}
