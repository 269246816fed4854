package topology

import (
	"fmt"
	"net/netip"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

// No single machine has these addresses (RFC 1112, RFC 4291).
var (
	multicastIPv4 = netip.MustParsePrefix("224.0.0.0/4")
	reservedIPv4  = netip.MustParsePrefix("240.0.0.0/4") // with 255.255.255.255
	multicastIPv6 = netip.MustParsePrefix("ff00::/8")
)

// guard filters between a gateway router and the fabric.
//
// It keeps out what isn't for the router's own addresses. Otherwise a machine on the fabric would only need a route to reach the host by
// its address in the group. It lets nothing out that hasn't become one of these addresses.
//
// It lets nothing out to DPUs, whatever else is allowed: a host that reached one could send packets into its tunnels. What the member's own
// DPU reports beyond what its certificate proves is kept from this member alone, so that a malicious DPU harms its own hosts only. Nor does
// it let anything out to the programs that make the networks, or to the BGP of routers, unless the operator shares what is there.
//
// What is inside is never outside: nothing is sent to an address of the group's own networks, which the site's rules don't mean, and
// nothing comes from one, which security groups would trust. Nor is multicast or broadcast sent: routers would take a host for one of
// them.
func (r *rows) guard(public *nbdb.LogicalSwitch, localnet, mac string, m Member) {
	own := map[string][]string{}
	for _, a := range m.Routed() {
		v := version(a.HostIP)
		own[v] = append(own[v], a.FabricIP.String())
		if m.Public(a) {
			own[v] = append(own[v], a.PublicIP.String())
		}
	}
	if six := own["ip6"]; six != nil {
		own["ip6"] = append(six, linkLocalOf(mac).String(), multicastIPv6.String()) // neighbours are found by IPv6 itself
	}
	for _, d := range directions() {
		var ours []string
		for _, v := range r.Group.versions() {
			if own[v] != nil {
				ours = append(ours, fmt.Sprintf("%s.%s == %s", v, d.far, oneOf(own[v])))
			}
		}
		// Two rules, because OVN would make a flow of each combination of bits in which an address differs from ours.
		port := fmt.Sprintf("%s == %q && ", d.port, localnet)
		r.rule(&public.ACLs, rule{"own-" + d.port + "/" + m.UID, d.direction, fabricPriority + 1, nbdb.ACLActionAllow, port + either(ours)})
		r.rule(&public.ACLs, rule{"guard-" + d.port + "/" + m.UID, d.direction, fabricPriority, nbdb.ACLActionDrop, port + "ip"})
	}
	for _, d := range directions() {
		far := map[nbdb.ACLDirection]string{nbdb.ACLDirectionFromLport: "src", nbdb.ACLDirectionToLport: "dst"}[d.direction]
		r.rule(&public.ACLs, rule{"inside-" + d.port + "/" + m.UID, d.direction, fabricPriority + 2, nbdb.ACLActionDrop,
			fmt.Sprintf("%s == %q && %s", d.port, localnet, r.Group.own(far))})
	}
	// Neighbours may ask under any address. The router asks them too: what it forwards has a lower hop limit than nd has.
	if r.Group.routesIPv6() {
		r.rule(&public.ACLs, rule{"neighbours/" + m.UID, nbdb.ACLDirectionFromLport, fabricPriority + 3, nbdb.ACLActionAllow,
			fmt.Sprintf("inport == %q && nd", localnet)})
		r.rule(&public.ACLs, rule{"asks-neighbours/" + m.UID, nbdb.ACLDirectionToLport, fabricPriority + 3, nbdb.ACLActionAllow,
			fmt.Sprintf("outport == %q && nd", localnet)})
	}
	if dpus := r.underlay.match("dst"); dpus != "" {
		r.rule(&public.ACLs, rule{"underlay/" + m.UID, nbdb.ACLDirectionToLport, fabricPriority + 2, nbdb.ACLActionDrop,
			fmt.Sprintf("outport == %q && %s", localnet, dpus)})
	}
	if routers := r.routers.match("dst"); routers != "" {
		r.rule(&public.ACLs, rule{"bgp/" + m.UID, nbdb.ACLDirectionToLport, fabricPriority + 2, nbdb.ACLActionDrop,
			fmt.Sprintf("outport == %q && %s && tcp.dst == 179", localnet, routers)})
	}
	if own := r.Group.to(m.DPUAddresses); own != "" {
		r.rule(&public.ACLs, rule{"unproven/" + m.UID, nbdb.ACLDirectionToLport, fabricPriority + 2, nbdb.ACLActionDrop,
			fmt.Sprintf("outport == %q && %s", localnet, own)})
	}
}

// to matches packets to some addresses. It is empty if none is of the group's IP versions.
func (g Group) to(addresses []netip.Addr) string {
	of := map[string][]netip.Addr{}
	for _, a := range addresses {
		if plain(a) {
			of[version(a)] = append(of[version(a)], a)
		}
	}
	var matches []string
	for _, v := range g.versions() {
		if of[v] != nil {
			matches = append(matches, fmt.Sprintf("%s.dst == %s", v, oneOf(of[v])))
		}
	}
	if matches == nil {
		return ""
	}
	return either(matches)
}

// own matches an address of the group's own networks, or between its routers, or no single machine's, at one end of a packet.
func (g Group) own(end string) string {
	inside := map[string][]netip.Prefix{"ip4": {linkLocal, multicastIPv4, reservedIPv4}, "ip6": {linksIPv6, multicastIPv6}}
	for _, n := range g.Networks {
		v := version(n.Gateway)
		inside[v] = append(inside[v], n.Prefix)
	}
	var matches []string
	for _, v := range g.versions() {
		matches = append(matches, fmt.Sprintf("%s.%s == %s", v, end, oneOf(inside[v])))
	}
	return either(matches)
}
