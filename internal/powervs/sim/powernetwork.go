package sim

import (
	"net/http"
	"net/netip"
	"time"
)

// KindNetwork are networks of workspaces.
const KindNetwork Kind = "network"

// network has addresses. That of a DHCP server exists as long as the server.
type network struct {
	workspaceObject
	prefix     netip.Prefix
	dnsServers []string
	vlan       int
	// dhcp is the server that gives its addresses out, if any.
	dhcp *dhcpServer
}

func worldNetwork(o workspaceObject, cidr string) *network {
	return &network{workspaceObject: o, prefix: netip.MustParsePrefix(cidr).Masked(), dnsServers: []string{"9.9.9.9"}, vlan: 100} // checked before
}

// Status is always the same.
func (n *network) Status(time.Time) string { return "active" }

// Gone includes that of the DHCP server.
func (n *network) Gone(now time.Time) bool {
	return n.workspaceObject.Gone(now) || n.dhcp != nil && n.dhcp.Gone(now)
}

// gateway is the first address, and the DHCP server has the second one.
func (n *network) gateway() netip.Addr { return n.prefix.Addr().Next() }

// inRange reports whether an address can be a server's.
func (n *network) inRange(a netip.Addr) bool {
	return n.prefix.Contains(a) && n.prefix.Contains(a.Next()) && n.gateway().Next().Less(a)
}

// free is the first address that no server has.
func (p *power) free(n *network) (netip.Addr, bool) {
	for a := n.gateway().Next().Next(); n.inRange(a); a = a.Next() {
		if !p.taken(n, a) {
			return a, true
		}
	}
	return netip.Addr{}, false
}

func (p *power) taken(n *network, a netip.Addr) bool {
	return p.servers.Any(func(s *server) bool {
		port, attached := s.port(n)
		return attached && port.address == a
	})
}

// attached reports whether a server is in a network.
func (p *power) attached(n *network) bool {
	return p.servers.Any(func(s *server) bool {
		_, attached := s.port(n)
		return attached
	})
}

func (p *power) listNetworks(w *instance, _ *call) (reply, error) {
	views := []any{}
	for _, n := range p.networks.within(w.id) {
		views = append(views, p.networkView(n))
	}
	return ok(map[string]any{"networks": views})
}

func (p *power) getNetwork(w *instance, r *call) (reply, error) {
	n, found := p.networks.byID(w.id, r.PathValue("id"))
	if !found {
		return reply{}, refuse(http.StatusNotFound, "", "network %s does not exist", r.PathValue("id"))
	}
	view := p.networkView(n)
	first, last := n.gateway().Next().Next(), lastOf(n.prefix)
	total := float64(int(1)<<(32-n.prefix.Bits()) - 4) // without those of network, gateway, DHCP and broadcast
	used := float64(p.servers.Count(func(s *server) bool { _, in := s.port(n); return in }))
	view["cidr"], view["gateway"], view["dnsServers"] = n.prefix.String(), n.gateway().String(), n.dnsServers
	view["ipAddressMetrics"] = map[string]float64{
		"available": total - used, "total": total, "used": used, "utilization": used / total * 100,
	}
	view["ipAddressRanges"] = []map[string]string{{"startingIPAddress": first.String(), "endingIPAddress": last.String()}}
	return ok(view)
}

// networkView is what a list shows.
func (p *power) networkView(n *network) map[string]any {
	return map[string]any{
		"networkID": n.id, "name": n.name, "type": "vlan", "vlanID": float64(n.vlan), "dhcpManaged": n.dhcp != nil,
		"enableDHCP": n.dhcp != nil, "mtu": 1450, "href": n.workspace.path("networks", n.id), "crn": n.workspace.crnOf("network", n.id),
	}
}

// path of something in a workspace.
func (i *instance) path(sort, id string) string {
	return "/pcloud/v1/cloud-instances/" + i.id + "/" + sort + "/" + id
}

// crnOf something in a workspace, whose own one ends with what isn't set.
func (i *instance) crnOf(sort, id string) string { return i.crn[:len(i.crn)-1] + sort + ":" + id }

// lastOf is the last address that a server can have.
func lastOf(p netip.Prefix) netip.Addr {
	octets := p.Addr().As4()
	for bit := p.Bits(); bit < 31; bit++ {
		octets[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom4(octets)
}
