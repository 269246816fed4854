package topology

import (
	"fmt"
	"net/netip"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

// network is what the members share: the switch, and the router that is their gateway.
func (r *rows) network() {
	g := r.Group
	r.logical = r.logicalSwitch("logical-switch/"+g.UID, SwitchName(g.Name))
	r.router = r.logicalRouter("logical-router/"+g.UID, g.RouterName(), nil)
	p := plug{mac: g.gatewayMAC()}
	for _, n := range g.Networks {
		p.networks = append(p.networks, netip.PrefixFrom(n.Gateway, n.Prefix.Bits()).String())
	}
	if g.Relayed.Is4() {
		// So OVN knows the relays' MAC addresses without asking for them.
		p.networks = append(p.networks, netip.PrefixFrom(relayRouter, relaysIPv4.Bits()).String())
	}
	r.gateway = r.cable(r.router, r.logical, "gateway/"+g.UID, p)
	if g.routesIPv6() {
		// Hosts learn their gateway. They choose no addresses: others than those that were given to them wouldn't pass.
		r.gateway.Ipv6RaConfigs = map[string]string{"address_mode": "dhcpv6_stateful", "send_periodic": "true"}
		r.keepLinkLocal()
	}
}

// keepLinkLocal from the router, but for what is for the router itself. It would send it to and fro between the gateway router
// and itself until its hop limit is reached.
func (r *rows) keepLinkLocal() {
	g := r.Group
	port := fmt.Sprintf("outport == %q && ip6.dst == ", portBetween(SwitchName(g.Name), g.RouterName()))
	r.rule(&r.logical.ACLs, rule{"to-gateway/" + g.UID, nbdb.ACLDirectionToLport, ownPriority, nbdb.ACLActionAllow,
		port + linkLocalOf(r.gateway.MAC).String()})
	r.rule(&r.logical.ACLs, rule{"to-link-local/" + g.UID, nbdb.ACLDirectionToLport, ownPriority - 1, nbdb.ACLActionDrop,
		port + "fe80::/10"})
}

func (g Group) routesIPv6() bool {
	for _, n := range g.Networks {
		if n.Gateway.Is6() {
			return true
		}
	}
	return false
}

// host is a member's port. It lets through what has the host's own addresses, and is for its DPU alone.
//
// What another host sends to it by the router is routed to the network too. Otherwise the route by the sender's address
// would be taken, and what a host sends to itself would loop.
func (r *rows) host(m Member) {
	addresses := m.HostMAC
	for _, a := range m.Addresses {
		addresses += " " + a.HostIP.String()
	}
	port := r.port(r.logical, "host/"+m.UID, PortName(m.UID, m.Name))
	for _, a := range m.Addresses {
		r.route(r.router, "route-in-"+version(a.HostIP)+"/"+m.UID, nbdb.LogicalRouterStaticRoutePolicyDstIP, alone(a.HostIP), a.HostIP, r.gateway)
	}
	port.Addresses, port.PortSecurity = []string{addresses}, []string{addresses}
	if m.Chassis != "" {
		port.Options = map[string]string{"requested-chassis": m.Chassis}
	}
}

// ends are a member's way out, as far as its routes need to know: the ports at both ends of the link, and the one on the fabric.
type ends struct {
	gateway       *nbdb.LogicalRouter
	down, up, out *nbdb.LogicalRouterPort
}

// wayOut is what leads from the router to the fabric for one member, all on its DPU.
func (r *rows) wayOut(m Member) {
	transit := r.logicalSwitch("transit-switch/"+m.UID, m.TransitName())
	// It doesn't need the MAC addresses of all senders of ARP requests on the fabric.
	gateway := r.logicalRouter("gateway-router/"+m.UID, m.GatewayName(),
		map[string]string{"chassis": m.Chassis, "always_learn_from_arp_request": "false"})
	public := r.logicalSwitch("public-switch/"+m.UID, m.PublicName())

	first := m.Routed()[0]
	l := r.links[first.HostIP]
	down, up := plug{mac: portMAC(linkMAC, l.router.Addr())}, plug{mac: portMAC(linkMAC, l.gateway.Addr())}
	// The option announces the addresses to the fabric as soon as they are there.
	out := plug{mac: portMAC(fabricMAC, first.FabricIP), options: map[string]string{"nat-addresses": "router"}}
	for _, a := range m.Routed() {
		l := r.links[a.HostIP]
		down.networks = append(down.networks, l.router.String())
		up.networks = append(up.networks, l.gateway.String())
		out.networks = append(out.networks, netip.PrefixFrom(a.FabricIP, a.FabricBits).String())
	}
	e := ends{
		gateway: gateway, down: r.cable(r.router, transit, "transit-router/"+m.UID, down),
		up: r.cable(gateway, transit, "transit-gateway/"+m.UID, up), out: r.cable(gateway, public, "public-gateway/"+m.UID, out),
	}
	localnet := r.port(public, "localnet/"+m.UID, portBetween(m.PublicName(), FabricNetwork))
	localnet.Type, localnet.Addresses = "localnet", []string{"unknown"}
	localnet.Options = map[string]string{"network_name": FabricNetwork}
	r.guard(public, localnet.Name, out.mac, m)
	for _, a := range m.Routed() {
		r.routes(m, a, e)
		r.nat(gateway, m, a)
	}
}

// routes: what the host sends is routed to its gateway router, and from there to the fabric; what is for it comes back.
func (r *rows) routes(m Member, a Address, e ends) {
	l, of := r.links[a.HostIP], version(a.HostIP)+"/"+m.UID
	r.route(r.router, "route-out-"+of, nbdb.LogicalRouterStaticRoutePolicySrcIP, alone(a.HostIP), l.gateway.Addr(), e.down)
	r.route(e.gateway, "route-back-"+of, nbdb.LogicalRouterStaticRoutePolicyDstIP, alone(a.HostIP), l.router.Addr(), e.up)
	if a.NextHop.IsValid() {
		everywhere := netip.PrefixFrom(a.NextHop, 0).Masked()
		r.route(e.gateway, "route-fabric-"+of, nbdb.LogicalRouterStaticRoutePolicyDstIP, everywhere, a.NextHop, e.out)
	}
}
