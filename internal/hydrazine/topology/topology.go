// Package topology computes the network of a ResourceGroup in OVN's northbound database. It is a pure function of the
// group, its members and the site: no clock, no input, no output.
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

	"github.com/ovn-kubernetes/libovsdb/model"
)

// Topology is a group's network.
type Topology struct {
	Group Group
	Site  Site
	// Members are the accepted ones, the oldest first.
	Members []Member
	// Refused says, by UID, why a member is not in. Of two that contradict each other the older one is.
	Refused map[string]error
	// Warnings say, by UID of the group or of a member, what of its security groups can't be expressed. Such rules let
	// nothing through.
	Warnings map[string][]string
	// NotRelayed says why requests for DHCP aren't passed on although the group has a server. New leaves it empty; overlay sets it.
	NotRelayed string
	// links are the networks between the logical router and the gateway routers, by the host's address.
	links map[netip.Addr]link
	// relays are the DHCP relays, by chassis.
	relays map[string]Relay
}

// New returns the network of a group. It fails if the group itself makes no sense.
func New(group Group, members []Member, site Site) (*Topology, error) {
	if !group.relayable() { // an unusable DHCP server doesn't affect the rest of the group
		group.Relayed = netip.Addr{}
	}
	if err := group.check(); err != nil {
		return nil, fmt.Errorf("group %s: %w", group.Name, err)
	}
	members = slices.SortedFunc(slices.Values(members), func(a, b Member) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID))
	})
	t := &Topology{
		Group: group, Site: site, Refused: map[string]error{}, Warnings: map[string][]string{},
		links: map[netip.Addr]link{}, relays: map[string]Relay{},
	}
	t.admit(members)
	t.connect()
	t.relay()
	t.warn()
	return t, nil
}

// SNATIPs are the fabric's addresses that members have outside the network, sorted.
func (t *Topology) SNATIPs() []netip.Addr {
	var ips []netip.Addr
	for _, m := range t.Members {
		for _, a := range m.Routed() {
			ips = append(ips, a.FabricIP)
		}
	}
	slices.SortFunc(ips, netip.Addr.Compare)
	return ips
}

// Rows are all rows of the group, with what the group's own need to know of the members'.
func (t *Topology) Rows() []model.Model {
	r := newRows(t)
	r.network()
	r.site()
	r.security()
	r.relayPorts()
	for _, m := range t.Members {
		r.host(m)
		r.request(m)
		if len(m.Routed()) > 0 {
			r.wayOut(m)
		}
	}
	return r.all
}
