// Package ownip reads which addresses the machine has that others can call.
package ownip

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// Addresses of all interfaces in the network namespace of this process, sorted. Those that reach no further than one link, or than
// the machine, aren't among them; what is on lo and can be routed to is.
func Addresses() ([]netip.Addr, error) {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the machine's addresses: %w", err)
	}
	var all []netip.Addr
	for _, each := range found {
		if network, ok := each.(*net.IPNet); ok {
			if a, ok := netip.AddrFromSlice(network.IP); ok {
				all = append(all, a)
			}
		}
	}
	return Callable(all), nil
}

// Callable are those of some addresses that other machines can call, sorted, each once. It reuses the list.
func Callable(all []netip.Addr) []netip.Addr {
	for i := range all {
		all[i] = all[i].Unmap()
	}
	all = slices.DeleteFunc(all, func(a netip.Addr) bool { return !a.IsGlobalUnicast() })
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}
