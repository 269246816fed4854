// Package topology says what the network of a ResourceGroup looks like in OVN's northbound database. It is a pure function
// of the group and its members: no clock, no input, no output.
//
// One logical switch carries the network; one logical router is its gateway. Both are on all DPUs. Each member that has an
// address of the fabric gets a way out of its own, which exists on its DPU alone:
//
//	logical switch ─ logical router ─ transit switch ─ gateway router ─ public switch ─ fabric
//
// The gateway router's port on the public switch owns the fabric address, and translates the member's address into it. The
// logical router chooses the gateway router by the packet's source. A member added or removed changes no other's rows.
package topology

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/ovn-kubernetes/libovsdb/model"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// Group is a ResourceGroup whose network OVN carries.
type Group struct {
	UID     string
	Name    string
	Network netip.Prefix
	// Gateway is the logical router's address.
	Gateway netip.Addr
}

// Member is a ManagedResource of the group.
type Member struct {
	UID     string
	Name    string
	Created time.Time
	HostIP  netip.Addr
	HostMAC string
	// Chassis is OVN's name of the DPU, from its agent. Until it is known the member has its port on the network only.
	Chassis string
	// FabricIP is the second IP of the DPU. A member without one reaches its own network only.
	FabricIP netip.Addr
	// FabricBits is the prefix length of the uplink's network, from the agent. Until it is known the member has its port on
	// the network only.
	FabricBits int
	// NextHop is the fabric's router, from the agent. Without one the member reaches the uplink's network only.
	NextHop netip.Addr
	Access  resourcev1.HostAccess
}

// Topology is a group's network.
type Topology struct {
	Group Group
	// Members are those who are in, the oldest first.
	Members []Member
	// Refused says, by UID, why a member is not in. Of two that contradict each other the older one is.
	Refused map[string]error
	// links are the networks between the logical router and the gateway routers, by the member's UID.
	links map[string]link
}

// New returns the network of a group. It fails if the group itself makes no sense.
func New(group Group, members []Member) (*Topology, error) {
	if err := group.check(); err != nil {
		return nil, fmt.Errorf("group %s: %w", group.Name, err)
	}
	members = slices.SortedFunc(slices.Values(members), func(a, b Member) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID))
	})
	t := &Topology{Group: group, Refused: map[string]error{}, links: map[string]link{}}
	t.admit(members)
	t.connect()
	return t, nil
}

// Routed says whether a member has a way out of its network.
func (m Member) Routed() bool {
	return m.Chassis != "" && m.FabricIP.IsValid() && m.FabricBits > 0
}

// Reachable says whether a member can be reached from the fabric.
func (m Member) Reachable() bool {
	return m.Access == resourcev1.FabricAccess || m.Access == resourcev1.PublicAccess
}

// SNATIPs are the fabric's addresses that members have outside the network, sorted.
func (t *Topology) SNATIPs() []netip.Addr {
	var ips []netip.Addr
	for _, m := range t.Members {
		if m.Routed() {
			ips = append(ips, m.FabricIP)
		}
	}
	slices.SortFunc(ips, netip.Addr.Compare)
	return ips
}

// Rows are all rows of the group, with what the group's own need to know of the members'.
func (t *Topology) Rows() []model.Model {
	r := &rows{Topology: t}
	r.network()
	for _, m := range t.Members {
		r.host(m)
		if m.Routed() {
			r.wayOut(m, t.links[m.UID])
		}
	}
	return r.all
}
