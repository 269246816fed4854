// Package overlay computes the network of a ResourceGroup from the objects in Kubernetes: which of its members are on it,
// and the topology that follows. Manager and command share it.
package overlay

import (
	"context"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// Outside is what a group's network depends on beside the group and its members.
type Outside struct {
	Site topology.Site
	// PublicIPs of hosts, by the UID of their ManagedResource.
	PublicIPs map[types.UID]netip.Addr
}

// LookOutside of a group, given the own addresses of DPUs. The reader may be any.
func LookOutside(ctx context.Context, c client.Reader, underlay []netip.Addr) (Outside, error) {
	site, err := LookAtSite(ctx, c, underlay)
	if err != nil {
		return Outside{}, err
	}
	list := &networkfabricv1.PublicIPList{}
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return Outside{}, fmt.Errorf("list PublicIPs: %w", err)
	}
	o := Outside{Site: site, PublicIPs: map[types.UID]netip.Addr{}}
	for i := range list.Items {
		ip := &list.Items[i]
		of := ip.Status.ManagedResource
		if of == nil || !ip.DeletionTimestamp.IsZero() {
			continue
		}
		if first, ok := o.PublicIPs[of.UID]; !ok || Address(ip.Spec.IPAddress).Less(first) {
			o.PublicIPs[of.UID] = Address(ip.Spec.IPAddress)
		}
	}
	return o, nil
}

// Topology of a group with these members.
func Topology(group *resourcev1.ResourceGroup, in []resourcev1.ManagedResource, outside Outside) (*topology.Topology, error) {
	g := topology.Group{UID: string(group.UID), Name: group.Name, SecurityGroups: group.Spec.SecurityGroups}
	refused := notRelayed(group, outside.Site)
	if refused == "" {
		g.Relayed = Address(group.Spec.DHCPServer)
	}
	for _, n := range []*resourcev1.IPNet{group.Spec.Network, group.Spec.SecondNetwork} {
		if n == nil {
			continue
		}
		network, gateway, err := n.Parse()
		if err != nil {
			return nil, fmt.Errorf("the network of ResourceGroup %s: %w", group.Name, err)
		}
		g.Networks = append(g.Networks, topology.Network{Prefix: network, Gateway: gateway})
	}
	list := make([]topology.Member, 0, len(in))
	for i := range in {
		list = append(list, member(g, &in[i], outside))
	}
	t, err := topology.New(g, list, outside.Site)
	if err != nil {
		return nil, err
	}
	if refused != "" {
		t.NotRelayed = refused
		t.Warnings[g.UID] = append(t.Warnings[g.UID], refused)
	}
	return t, nil
}

func member(g topology.Group, r *resourcev1.ManagedResource, outside Outside) topology.Member {
	first := topology.Address{HostIP: Address(r.Spec.HostIP), FabricIP: DPUIP(r, 1), PublicIP: outside.PublicIPs[r.UID]}
	second := topology.Address{HostIP: Address(r.Spec.SecondHostIP), FabricIP: DPUIP(r, 2)}
	m := topology.Member{
		UID: string(r.UID), Name: r.Name, Created: r.CreationTimestamp.Time, HostMAC: string(r.Spec.HostMAC), Access: r.Spec.HostAccess,
		SecurityGroups: g.SecurityGroupsOf(r.Spec.SecurityGroups),
	}
	if at := r.Status.LogicalPortReference; at != nil && at.Agent == r.Spec.DPUIPs[0] {
		m.Chassis = at.DPU
		// What was learned for another address says nothing of this one.
		if first.FabricIP == Address(at.FabricIP) {
			first.FabricBits, first.NextHop = int(at.FabricPrefixLength), Address(at.FabricGateway)
		}
		if second.FabricIP == Address(at.SecondFabricIP) {
			second.FabricBits, second.NextHop = int(at.SecondFabricPrefixLength), Address(at.SecondFabricGateway)
		}
	}
	for _, ip := range r.Status.UnprovenDPUAddresses {
		m.DPUAddresses = append(m.DPUAddresses, Address(ip))
	}
	m.Addresses = append(m.Addresses, first)
	if second.HostIP.IsValid() {
		m.Addresses = append(m.Addresses, second)
	}
	return m
}

// DPUIP is invalid if there are fewer.
func DPUIP(r *resourcev1.ManagedResource, i int) netip.Addr {
	if i >= len(r.Spec.DPUIPs) {
		return netip.Addr{}
	}
	return Address(r.Spec.DPUIPs[i])
}

// Address is invalid if the text is empty. The API server has checked all others.
func Address(ip resourcev1.IPAddress) netip.Addr {
	parsed, err := netip.ParseAddr(string(ip))
	if err != nil {
		return netip.Addr{}
	}
	return parsed
}
