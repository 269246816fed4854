package overlay

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

// Objects that say where traffic passes. Hosts have to be ready.
type Objects struct {
	Groups    []resourcev1.ResourceGroup
	Resources []resourcev1.ManagedResource
	Policy    networkfabricv1.FabricPolicySpec
}

// member is a host of the fabric on a network.
type member struct {
	host      fabric.Host
	group     string
	addresses []address // of one IP version or both
	reachable bool      // from the fabric
	leased    bool      // by DHCP
	circuit   string    // that the DHCP server knows the group by
	// securityGroups that it is in. If it's in none, all passes.
	securityGroups []resourcev1.SecurityGroup
}

// address of a host, and those that the fabric and the internet know it by, if they do.
type address struct {
	ip, fabricIP, publicIP netip.Addr
	network                netip.Prefix
	gateway                netip.Addr
}

// members are the hosts that ManagedResources speak of, which are found by their MAC addresses.
func (o *Overlay) members(objects Objects) ([]member, error) {
	var all []member
	for i := range objects.Resources {
		r := &objects.Resources[i]
		g := slices.IndexFunc(objects.Groups, func(g resourcev1.ResourceGroup) bool { return g.Name == r.Spec.ResourceGroup })
		h := slices.IndexFunc(o.Topology().Hosts(), func(h fabric.Host) bool {
			return strings.EqualFold(h.MAC.String(), string(r.Spec.HostMAC))
		})
		if g < 0 || h < 0 {
			return nil, fmt.Errorf("ManagedResource %s: the fabric has no such host, or there is no ResourceGroup %s", r.Name, r.Spec.ResourceGroup)
		}
		m, err := newMember(&objects.Groups[g], r)
		if err != nil {
			return nil, fmt.Errorf("ManagedResource %s: %w", r.Name, err)
		}
		m.host = o.Topology().Hosts()[h]
		all = append(all, m)
	}
	return all, nil
}

func newMember(g *resourcev1.ResourceGroup, r *resourcev1.ManagedResource) (member, error) {
	m := member{group: g.Name, reachable: r.Spec.HostAccess != resourcev1.NetworkAccess, leased: g.Spec.DHCPServer != ""}
	if at := g.Status.SoftwareNetworkConfiguration; at != nil {
		m.circuit = at.DHCPCircuitID
	}
	names := r.Spec.SecurityGroups
	if len(names) == 0 {
		names = []string{resourcev1.DefaultSecurityGroup}
	}
	for _, s := range g.Spec.SecurityGroups {
		if slices.Contains(names, s.Name) {
			m.securityGroups = append(m.securityGroups, s)
		}
	}
	first, err := newAddress(g.Spec.Network, r.Spec.HostIP, r.Spec.DPUIPs, 1)
	if err != nil {
		return m, err
	}
	if at := r.Status.HostAccessIPs; at != nil && at.PublicIP != "" {
		if first.publicIP, err = netip.ParseAddr(string(at.PublicIP)); err != nil {
			return m, err
		}
	}
	m.addresses = []address{first}
	if r.Spec.SecondHostIP != "" {
		second, err := newAddress(g.Spec.SecondNetwork, r.Spec.SecondHostIP, r.Spec.DPUIPs, 2)
		if err != nil {
			return m, err
		}
		m.addresses = append(m.addresses, second)
	}
	return m, nil
}

func newAddress(network *resourcev1.IPNet, ip resourcev1.IPAddress, dpuIPs []resourcev1.IPAddress, which int) (a address, err error) {
	if a.network, a.gateway, err = network.Parse(); err != nil {
		return a, err
	}
	if a.ip, err = netip.ParseAddr(string(ip)); err != nil || len(dpuIPs) <= which {
		return a, err
	}
	a.fabricIP, err = netip.ParseAddr(string(dpuIPs[which]))
	return a, err
}

// version returns the member's address of the other one's IP version.
func (m member) version(other netip.Addr) (address, bool) {
	i := slices.IndexFunc(m.addresses, func(a address) bool { return a.ip.BitLen() == other.BitLen() })
	if i < 0 {
		return address{}, false
	}
	return m.addresses[i], true
}

// lets reports whether the member's security groups let through what it begins, or what others begin. Peer is the other end as
// it is seen here, and of are the security groups that it is in, if it's in the same network.
func (m member) lets(direction resourcev1.SecurityDirection, protocol probe.Protocol, port uint16, peer netip.Addr, of []resourcev1.SecurityGroup) bool {
	if len(m.securityGroups) == 0 {
		return true
	}
	for _, s := range m.securityGroups {
		for _, rule := range s.Rules {
			if rule.Direction == direction && speaks(rule, protocol, port) && means(rule, peer, of) {
				return true
			}
		}
	}
	return false
}

func speaks(rule resourcev1.SecurityRule, protocol probe.Protocol, port uint16) bool {
	if rule.Protocol != resourcev1.AnyProtocol && !strings.EqualFold(string(rule.Protocol), string(protocol)) {
		return false
	}
	return len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(r resourcev1.PortRange) bool {
		return int32(port) >= r.First && int32(port) <= max(r.First, r.Last)
	})
}

func means(rule resourcev1.SecurityRule, peer netip.Addr, of []resourcev1.SecurityGroup) bool {
	return len(rule.Prefixes)+len(rule.SecurityGroups) == 0 || within(rule.Prefixes, peer) ||
		slices.ContainsFunc(of, func(s resourcev1.SecurityGroup) bool { return slices.Contains(rule.SecurityGroups, s.Name) })
}

func within(prefixes []resourcev1.IPPrefix, a netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(text resourcev1.IPPrefix) bool {
		prefix, err := netip.ParsePrefix(string(text))
		return err == nil && prefix.Contains(a)
	})
}
