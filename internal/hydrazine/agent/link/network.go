package link

import (
	"cmp"
	"context"
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

// Gateways returns the next hops of the default routes by an interface, the preferred one of each IP version.
func Gateways(name string) ([]netip.Addr, error) {
	l, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", name, err)
	}
	var found []netip.Addr
	for _, family := range families {
		routes, err := netlink.RouteList(l, family)
		if err != nil {
			return nil, fmt.Errorf("list the routes of %s: %w", name, err)
		}
		slices.SortFunc(routes, func(a, b netlink.Route) int { return cmp.Compare(a.Priority, b.Priority) })
		for _, r := range routes {
			if gateway, ok := netip.AddrFromSlice(r.Gw); ok && isDefault(r) {
				found = append(found, gateway.Unmap())
				break
			}
		}
	}
	return found, nil
}

func isDefault(r netlink.Route) bool {
	if r.Dst == nil {
		return true
	}
	length, _ := r.Dst.Mask.Size()
	return length == 0 && r.Dst.IP.IsUnspecified()
}

// Watch calls changed whenever an interface, an address or a route has changed, until ctx ends. It returns an error when it
// has lost the connection to the kernel.
func Watch(ctx context.Context, changed func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lost := func(err error) { cancel(fmt.Errorf("watch the interfaces: %w", err)) }

	links, addresses, routes := make(chan netlink.LinkUpdate), make(chan netlink.AddrUpdate), make(chan netlink.RouteUpdate)
	err := errors.Join(
		netlink.LinkSubscribeWithOptions(links, ctx.Done(), netlink.LinkSubscribeOptions{ErrorCallback: lost}),
		netlink.AddrSubscribeWithOptions(addresses, ctx.Done(), netlink.AddrSubscribeOptions{ErrorCallback: lost}),
		netlink.RouteSubscribeWithOptions(routes, ctx.Done(), netlink.RouteSubscribeOptions{ErrorCallback: lost}),
	)
	if err != nil {
		return fmt.Errorf("watch the interfaces: %w", err)
	}
	// Each channel is closed by its sender, and is read until then: the sender doesn't look at ctx while it sends.
	open := 3
	for open > 0 {
		ok := true
		select {
		case _, ok = <-links:
			if !ok {
				links = nil
			}
		case _, ok = <-addresses:
			if !ok {
				addresses = nil
			}
		case _, ok = <-routes:
			if !ok {
				routes = nil
			}
		}
		if !ok {
			open--
			cancel(nil)
			continue
		}
		changed()
	}
	return context.Cause(ctx)
}
