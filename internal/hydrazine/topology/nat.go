package topology

import (
	"net/netip"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

// nat translates the addresses of what a host sends to the fabric, and of what it is reached by from there.
//
// There are rules of their own for both: OVN drops what is for an address of the router itself if one rule of both kinds is to
// translate it, and doesn't say which of two such rules with one host it takes. Of two that translate a source it takes the one
// for fewer addresses. So the fabric's is for the host alone, and is bound to destinations; the public one is for the network,
// of which no other host uses this router.
//
// No host is without the fabric's: OVN drops what is for an address of the router itself that no source is translated into.
func (r *rows) nat(gateway *nbdb.LogicalRouter, m Member, a Address) {
	network, v := r.networkOf(a), version(a.HostIP)
	add := func(kind nbdb.NATType, name string, outside netip.Addr, inside string, only *string) {
		key := name + "-" + v + "/" + m.UID
		r.all = append(r.all, &nbdb.NAT{
			UUID: ovn.Ref(key), ExternalIDs: r.mark(key), Type: kind, ExternalIP: outside.String(), LogicalIP: inside, AllowedExtIPs: only,
		})
		gateway.Nat = append(gateway.Nat, ovn.Ref(key))
	}
	if m.Public(a) {
		add(nbdb.NATTypeSNAT, "snat-public", a.PublicIP, network.String(), nil)
		add(nbdb.NATTypeDNAT, "dnat-public", a.PublicIP, a.HostIP.String(), nil)
		only := ovn.Ref(r.setKey("fabric", v))
		add(nbdb.NATTypeSNAT, "snat", a.FabricIP, a.HostIP.String(), &only)
	} else {
		add(nbdb.NATTypeSNAT, "snat", a.FabricIP, a.HostIP.String(), nil)
	}
	if m.Reachable() {
		add(nbdb.NATTypeDNAT, "dnat", a.FabricIP, a.HostIP.String(), nil)
	}
}

// networkOf is the group's network that an address is in.
func (r *rows) networkOf(a Address) netip.Prefix {
	network, _ := a.HostIP.Prefix(0)
	for _, n := range r.Group.Networks {
		if n.Prefix.Contains(a.HostIP) {
			network = n.Prefix
		}
	}
	return network
}
