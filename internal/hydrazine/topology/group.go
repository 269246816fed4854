package topology

import (
	"net/netip"
	"slices"
	"time"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// Group is a ResourceGroup whose network OVN carries.
type Group struct {
	UID  string
	Name string
	// Networks are one, or two of different IP versions.
	Networks []Network
	// Relayed is the DHCP server that the members' requests are relayed to. Its IP version is that of one of the networks.
	// Without one they aren't relayed.
	Relayed        netip.Addr
	SecurityGroups []resourcev1.SecurityGroup
}

// Network is one IP version's.
type Network struct {
	Prefix netip.Prefix
	// Gateway is the logical router's address.
	Gateway netip.Addr
}

// Member is a ManagedResource of the group.
type Member struct {
	UID     string
	Name    string
	Created time.Time
	HostMAC string
	// Chassis is OVN's name of the DPU, from its agent. Until it is known the member has its port on the network only.
	Chassis string
	Access  resourcev1.HostAccess
	// Addresses are in the order of the group's networks. The second may be missing.
	Addresses []Address
	// SecurityGroups are those that Group.SecurityGroupsOf has returned.
	SecurityGroups []string
	// DPUAddresses are those of its DPU's own that aren't proven, and so not in Site.Underlay. This member alone never reaches one.
	DPUAddresses []netip.Addr
}

// Address is a host's in one of the networks, and what it has outside.
type Address struct {
	HostIP netip.Addr
	// FabricIP is an IP of the DPU for this host alone. An address without one reaches its own network only.
	FabricIP netip.Addr
	// FabricBits is the prefix length of the uplink's network, from the agent. Until it is known the host reaches its own
	// network only.
	FabricBits int
	// NextHop is the fabric's router, from the agent. Without one the host reaches the uplink's network only.
	NextHop netip.Addr
	// PublicIP is what a host with PublicAccess has on the internet.
	PublicIP netip.Addr
}

// Site is what all groups have in common.
type Site struct {
	// FabricPrefixes are networks in which a host with a public address appears under its fabric address. Without one
	// there are none.
	FabricPrefixes []netip.Prefix
	// Denied are networks that no host reaches, and that reach none. They never include the group's own.
	Denied []netip.Prefix
	// Shared are networks that every host reaches, whatever Denied and security groups say.
	Shared []netip.Prefix
	// Underlay are the DPUs' own addresses, sorted, and DPUs the networks that have nothing else. No host ever reaches one.
	Underlay []netip.Addr
	DPUs     []netip.Prefix
	// ControlPlane are addresses of the programs that make the networks, sorted. No host reaches one that isn't among Shared.
	ControlPlane []netip.Addr
	// Routers are those that public addresses are announced to, sorted. No host reaches BGP of one that isn't among
	// Shared.
	Routers []netip.Addr
	// DHCPServers are those that a group may have. Nil is all that its hosts may reach.
	DHCPServers []netip.Addr
}

// SecurityGroupsOf are the effective security groups of a member that names these.
func (g Group) SecurityGroupsOf(named []string) []string {
	isDefault := func(s resourcev1.SecurityGroup) bool { return s.Name == resourcev1.DefaultSecurityGroup }
	if len(named) == 0 && slices.ContainsFunc(g.SecurityGroups, isDefault) {
		return []string{resourcev1.DefaultSecurityGroup}
	}
	return named
}

// Routed are the addresses that have a way out of the network.
func (m Member) Routed() []Address {
	if m.Chassis == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.Addresses), func(a Address) bool { return !a.FabricIP.IsValid() || a.FabricBits <= 0 })
}

// Reachable reports whether a member can be reached from the fabric.
func (m Member) Reachable() bool {
	return m.Access == resourcev1.FabricAccess || m.Access == resourcev1.PublicAccess
}

// Public reports whether a member can be reached from the internet by one of its addresses.
func (m Member) Public(a Address) bool {
	return m.Access == resourcev1.PublicAccess && a.PublicIP.IsValid()
}
