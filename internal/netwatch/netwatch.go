// Package netwatch tells when the kernel's network has changed.
package netwatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
)

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
	// Each channel is closed by its sender, and is read until then: the sender doesn't check ctx while it sends.
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
