package overlay

import (
	"fmt"
	"net/netip"
	"slices"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// notRelayed says why the site doesn't allow a group's DHCP server, and what to do. It is empty if it does, or if there is none.
//
// DPUs relay under their own addresses, past all rules for hosts, and name the network of the wanted address. So a tenant
// could reach any server, and use up addresses of the data centre's own networks.
func notRelayed(group *resourcev1.ResourceGroup, site topology.Site) string {
	server := Address(group.Spec.DHCPServer)
	if !server.IsValid() || group.Spec.NetworkImplementationType == resourcev1.FabricNetwork {
		return ""
	}
	with := func(all []netip.Prefix) (netip.Prefix, bool) {
		i := slices.IndexFunc(all, func(p netip.Prefix) bool { return p.Contains(server) })
		if i < 0 {
			return netip.Prefix{}, false
		}
		return all[i], true
	}
	_, dpus := with(site.DPUs)
	denied, isDenied := with(site.Denied)
	_, shared := with(site.Shared)
	switch {
	case dpus || slices.Contains(site.Underlay, server):
		return fmt.Sprintf("dhcpServer %s is an address of the DPUs: choose another one", server)
	case site.DHCPServers != nil && !slices.Contains(site.DHCPServers, server):
		return fmt.Sprintf("dhcpServer %s isn't among dhcpServers of the FabricPolicy: choose one that is, or ask the operator to add it", server)
	case site.DHCPServers == nil && isDenied && !shared:
		return fmt.Sprintf("dhcpServer %s is in %s of deniedPrefixes of the FabricPolicy: choose another one, or ask the operator to add it to "+
			"dhcpServers", server, denied)
	}
	return overlap(group, server, site)
}

// overlap of the network that addresses are asked for with one of the data centre's.
func overlap(group *resourcev1.ResourceGroup, server netip.Addr, site topology.Site) string {
	for _, n := range []*resourcev1.IPNet{group.Spec.Network, group.Spec.SecondNetwork} {
		if n == nil {
			continue
		}
		network, _, err := n.Parse()
		if err != nil || network.Addr().Is4() != server.Is4() {
			continue
		}
		for _, of := range []struct {
			field string
			all   []netip.Prefix
		}{
			{"fabricPrefixes", site.FabricPrefixes}, {"deniedPrefixes", site.Denied}, {"dpuPrefixes", site.DPUs}, {"sharedServices", site.Shared},
		} {
			for _, p := range of.all {
				if p.Bits() > 0 && p.Overlaps(network) { // 0.0.0.0/0 means no single one
					return fmt.Sprintf("the network %s has a dhcpServer, and overlaps %s of %s of the FabricPolicy: make a ResourceGroup with "+
						"another network, or leave out dhcpServer", network, p, of.field)
				}
			}
		}
	}
	return ""
}
