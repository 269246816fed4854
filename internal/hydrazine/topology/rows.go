package topology

import (
	"fmt"
	"net/netip"

	"github.com/ovn-kubernetes/libovsdb/model"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

// First bytes of the MAC addresses of routers' ports.
const (
	linkMAC   = 0x06
	fabricMAC = 0x0a
)

// rows collects the rows of a group. A row's key is its kind and the UID of whom it is for.
type rows struct {
	*Topology
	all     []model.Model
	logical *nbdb.LogicalSwitch
	router  *nbdb.LogicalRouter
}

func (r *rows) mark(key string) map[string]string { return ovn.Mark(r.Group.UID, key) }

// network is what the members share: the switch, and the router that is their gateway.
func (r *rows) network() {
	g := r.Group
	r.logical = r.logicalSwitch("logical-switch/"+g.UID, SwitchName(g.Name))
	r.router = r.logicalRouter("logical-router/"+g.UID, g.RouterName(), nil)
	r.cable(r.router, r.logical, "gateway/"+g.UID, plug{
		mac: g.gatewayMAC(), address: netip.PrefixFrom(g.Gateway, g.Network.Bits())})
}

// host is a member's port. It lets through what has the host's own addresses, and is for its DPU alone.
func (r *rows) host(m Member) {
	addresses := m.HostMAC + " " + m.HostIP.String()
	port := r.port(r.logical, "host/"+m.UID, PortName(m.UID, m.Name))
	port.Addresses, port.PortSecurity = []string{addresses}, []string{addresses}
	if m.Chassis != "" {
		port.Options = map[string]string{"requested-chassis": m.Chassis}
	}
}

// wayOut is what leads from the router to the fabric for one member, all on its DPU.
func (r *rows) wayOut(m Member, l link) {
	transit := r.logicalSwitch("transit-switch/"+m.UID, m.TransitName())
	// It has no use for the MAC addresses of everybody who asks for one on the fabric.
	gateway := r.logicalRouter("gateway-router/"+m.UID, m.GatewayName(),
		map[string]string{"chassis": m.Chassis, "always_learn_from_arp_request": "false"})
	public := r.logicalSwitch("public-switch/"+m.UID, m.PublicName())
	down := r.cable(r.router, transit, "transit-router/"+m.UID, plug{mac: portMAC(linkMAC, l.router.Addr()), address: l.router})
	up := r.cable(gateway, transit, "transit-gateway/"+m.UID, plug{mac: portMAC(linkMAC, l.gateway.Addr()), address: l.gateway})
	out := r.cable(gateway, public, "public-gateway/"+m.UID, plug{
		mac: portMAC(fabricMAC, m.FabricIP), address: netip.PrefixFrom(m.FabricIP, m.FabricBits),
		// Tells the fabric where the address is, as soon as it is there.
		options: map[string]string{"nat-addresses": "router"}})
	localnet := r.port(public, "localnet/"+m.UID, portBetween(m.PublicName(), FabricNetwork))
	localnet.Type, localnet.Addresses = "localnet", []string{"unknown"}
	localnet.Options = map[string]string{"network_name": FabricNetwork}
	r.guard(public, localnet, m)
	r.routes(m, l, down, gateway, up, out)
	r.nat(gateway, m)
}

// guard keeps out of the gateway router what isn't for its own address. Otherwise somebody on the fabric would only need a
// route to reach the host by its address in the group.
func (r *rows) guard(public *nbdb.LogicalSwitch, localnet *nbdb.LogicalSwitchPort, m Member) {
	foreign := fmt.Sprintf("ip6 || ip4.dst != %s", m.FabricIP)
	if m.FabricIP.Is6() {
		// Neighbours are found by IPv6 itself.
		foreign = fmt.Sprintf("ip4 || (ip6 && !(ip6.dst == {%s, fe80::/10, ff00::/8}))", m.FabricIP)
	}
	key := "guard/" + m.UID
	r.all = append(r.all, &nbdb.ACL{
		UUID: ovn.Ref(key), ExternalIDs: r.mark(key), Priority: 1000,
		Direction: nbdb.ACLDirectionFromLport, Action: nbdb.ACLActionDrop,
		Match: fmt.Sprintf("inport == %q && (%s)", localnet.Name, foreign),
	})
	public.ACLs = append(public.ACLs, ovn.Ref(key))
}

// routes: what the member sends goes to its gateway router, and from there to the fabric; what is for it goes back.
func (r *rows) routes(
	m Member, l link, down *nbdb.LogicalRouterPort, gateway *nbdb.LogicalRouter, up, out *nbdb.LogicalRouterPort,
) {
	host := netip.PrefixFrom(m.HostIP, m.HostIP.BitLen())
	r.route(r.router, "route-out/"+m.UID, nbdb.LogicalRouterStaticRoutePolicySrcIP, host, l.gateway.Addr(), down)
	r.route(gateway, "route-back/"+m.UID, nbdb.LogicalRouterStaticRoutePolicyDstIP, host, l.router.Addr(), up)
	if m.NextHop.IsValid() {
		everywhere := netip.PrefixFrom(m.NextHop, 0).Masked()
		r.route(gateway, "route-fabric/"+m.UID, nbdb.LogicalRouterStaticRoutePolicyDstIP, everywhere, m.NextHop, out)
	}
}

// nat has two rules: OVN drops what is for an address of the router itself if one rule of both kinds is to translate it.
func (r *rows) nat(gateway *nbdb.LogicalRouter, m Member) {
	kinds := []nbdb.NATType{nbdb.NATTypeSNAT}
	if m.Reachable() {
		kinds = append(kinds, nbdb.NATTypeDNAT)
	}
	for _, kind := range kinds {
		key := kind + "/" + m.UID
		r.all = append(r.all, &nbdb.NAT{
			UUID: ovn.Ref(key), ExternalIDs: r.mark(key), Type: kind,
			ExternalIP: m.FabricIP.String(), LogicalIP: m.HostIP.String(),
		})
		gateway.Nat = append(gateway.Nat, ovn.Ref(key))
	}
}

func (r *rows) logicalSwitch(key, name string) *nbdb.LogicalSwitch {
	s := &nbdb.LogicalSwitch{UUID: ovn.Ref(key), ExternalIDs: r.mark(key), Name: name}
	r.all = append(r.all, s)
	return s
}

func (r *rows) logicalRouter(key, name string, options map[string]string) *nbdb.LogicalRouter {
	router := &nbdb.LogicalRouter{UUID: ovn.Ref(key), ExternalIDs: r.mark(key), Name: name, Options: options}
	r.all = append(r.all, router)
	return router
}

func (r *rows) port(on *nbdb.LogicalSwitch, key, name string) *nbdb.LogicalSwitchPort {
	port := &nbdb.LogicalSwitchPort{UUID: ovn.Ref(key), ExternalIDs: r.mark(key), Name: name}
	on.Ports = append(on.Ports, port.UUID)
	r.all = append(r.all, port)
	return port
}

// plug is the router's end of a cable.
type plug struct {
	mac     string
	address netip.Prefix
	options map[string]string // of the switch's end
}

// cable connects a router and a switch, and returns the router's port.
func (r *rows) cable(router *nbdb.LogicalRouter, with *nbdb.LogicalSwitch, key string, p plug) *nbdb.LogicalRouterPort {
	port := &nbdb.LogicalRouterPort{
		UUID: ovn.Ref(key), ExternalIDs: r.mark(key), Name: portBetween(router.Name, with.Name),
		MAC: p.mac, Networks: []string{p.address.String()},
	}
	router.Ports = append(router.Ports, port.UUID)
	r.all = append(r.all, port)
	end := r.port(with, key+"/switch", portBetween(with.Name, router.Name))
	end.Type, end.Addresses = "router", []string{"router"}
	end.Options = map[string]string{"router-port": port.Name}
	for option, value := range p.options {
		end.Options[option] = value
	}
	return port
}

func (r *rows) route(
	of *nbdb.LogicalRouter, key string, policy nbdb.LogicalRouterStaticRoutePolicy, match netip.Prefix, next netip.Addr,
	by *nbdb.LogicalRouterPort,
) {
	of.StaticRoutes = append(of.StaticRoutes, ovn.Ref(key))
	r.all = append(r.all, &nbdb.LogicalRouterStaticRoute{
		UUID: ovn.Ref(key), ExternalIDs: r.mark(key),
		Policy: &policy, IPPrefix: match.String(), Nexthop: next.String(), OutputPort: &by.Name,
	})
}
