package cloudprovider

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/instance"
)

// shared are addresses for carriers' own networks (RFC 6598), which can't be reached from outside.
var shared = netip.MustParsePrefix("100.64.0.0/10")

// nodeAddresses of an instance: its IP addresses; a Node without one keeps those that it has.
//
// An address that the internet may reach is an external one. The BMM API knows that for certain only of the IP block that
// the address comes from, two calls for each subnet away; the address itself says the same. Where an instance has no other
// addresses they are internal ones as well, because nodes have to reach each other.
func nodeAddresses(i *bmm.Instance) []corev1.NodeAddress {
	var internal, external []corev1.NodeAddress
	for _, a := range instance.Addresses(i) {
		switch ip, err := netip.ParseAddr(a.Address); {
		case a.Type != corev1.NodeInternalIP:
			// Its Hostname is what its kubelet says, and need not be the instance's name.
		case err != nil: // a kubelet wouldn't take it either
		case isPublic(ip.Unmap()):
			external = append(external, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: a.Address})
		default:
			internal = append(internal, a)
		}
	}
	if len(internal) == 0 {
		for _, a := range external {
			internal = append(internal, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.Address})
		}
	}
	if len(internal) == 0 {
		return nil
	}
	return slices.Concat(internal, external)
}

func isPublic(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !shared.Contains(ip)
}
