package topology

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

// Each DPU of a group relays what its hosts ask a DHCP server for. It receives from them on an interface of its own on the
// group's logical switch. Hosts renew their leases at the relay's address, by the logical router if they know no other
// way.

// relaysIPv4 is the network of the relays. Their router has its first address.
var (
	relaysIPv4  = netip.MustParsePrefix("169.254.128.0/17")
	relayRouter = relaysIPv4.Addr().Next()
)

// relayCount is the number of addresses that are left: without the network's own, the router's, and the last /24, which is
// reserved.
const relayCount = 1<<15 - 1<<8 - 2

// Relay is a DPU's interface on which the DHCP relay receives from hosts.
type Relay struct {
	// Interface is its name, the same on all DPUs of the group. The server knows the group by it.
	Interface string
	// LogicalPort is the name of its logical switch port.
	LogicalPort string
	MAC         string
	// Address is none where the server's is an IPv6 one.
	Address netip.Addr
	// Link is the gateway of the network that hosts are to get their addresses from.
	Link netip.Addr
}

// relayable reports whether the DHCP server's address is of the IP version of one of the networks.
func (g Group) relayable() bool {
	return plain(g.Relayed) && slices.ContainsFunc(g.Networks, func(n Network) bool { return n.Gateway.BitLen() == g.Relayed.BitLen() })
}

// Relay returns that of a DPU which hosts of the group are behind, if there is a DHCP server.
func (t *Topology) Relay(chassis string) (Relay, bool) {
	relay, ok := t.relays[chassis]
	return relay, ok
}

// relay gives each DPU its relay. The address follows from the DPU's name; where two come upon the same one, that of the younger
// member takes the next.
func (t *Topology) relay() {
	server := t.Group.Relayed
	at := slices.IndexFunc(t.Group.Networks, func(n Network) bool { return n.Gateway.BitLen() == server.BitLen() })
	if at < 0 {
		return // also where there is no server
	}
	taken := map[netip.Addr]bool{}
	for _, m := range t.Members {
		if _, known := t.relays[m.Chassis]; known || m.Chassis == "" {
			continue
		}
		relay := Relay{
			Interface: RelayInterface(t.Group.UID), LogicalPort: t.Group.relayPort(m.Chassis), MAC: t.Group.relayMAC(m.Chassis),
			Link: t.Group.Networks[at].Gateway,
		}
		if server.Is4() {
			sum := digest(m.Chassis)
			number := binary.BigEndian.Uint64(sum[:])
			for i := 0; i == 0 || taken[relay.Address] && i < relayCount; i++ {
				relay.Address = relayAddress(number + uint64(i))
			}
			taken[relay.Address] = true
		}
		t.relays[m.Chassis] = relay
	}
}

func relayAddress(number uint64) netip.Addr {
	base := relaysIPv4.Addr().As4()
	host := uint16(number%relayCount) + 2
	binary.BigEndian.PutUint16(base[2:], binary.BigEndian.Uint16(base[2:])+host)
	return netip.AddrFrom4(base)
}

// relayAddresses are those that hosts get answers from: of IPv4 the relays' whole network, which no host is on.
func (t *Topology) relayAddresses() (all []netip.Prefix) {
	for _, chassis := range slices.Sorted(maps.Keys(t.relays)) {
		if relay := t.relays[chassis]; relay.Address.IsValid() {
			return []netip.Prefix{relaysIPv4}
		}
		all = append(all, alone(linkLocalOf(t.relays[chassis].MAC)))
	}
	return all
}

// relayPorts are the relays' places on the network. Their interfaces are on the DPUs themselves, whose own addresses must not
// be reachable through them. So nothing passes but what hosts on the same DPU ask a DHCP server, and the answers.
func (r *rows) relayPorts() {
	for _, chassis := range slices.Sorted(maps.Keys(r.relays)) {
		relay := r.relays[chassis]
		key := "relay/" + relay.LogicalPort
		port := r.port(r.logical, key, relay.LogicalPort)
		addresses, answer := relay.MAC, "(ip6.src == fe80::/10 && udp.src == 547 && udp.dst == 546)"
		if a := relay.Address; a.IsValid() {
			addresses += " " + a.String()
			answer = fmt.Sprintf("(ip4.src == %s && udp.src == 67 && udp.dst == 68)", a)
			// Otherwise the route by the host's own address would be taken, to the fabric.
			r.route(r.router, "route-"+key, nbdb.LogicalRouterStaticRoutePolicyDstIP, alone(a), a, r.gateway)
		}
		port.Addresses, port.PortSecurity = []string{addresses}, []string{addresses}
		port.Options = map[string]string{"requested-chassis": chassis}
		on, in, out := &r.logical.ACLs, fmt.Sprintf("inport == %q", port.Name), fmt.Sprintf("outport == %q", port.Name)
		r.rule(on, rule{"answers-" + key, nbdb.ACLDirectionFromLport, ownPriority, nbdb.ACLActionAllow, in + " && " + answer})
		r.rule(on, rule{"silent-" + key, nbdb.ACLDirectionFromLport, ownPriority - 1, nbdb.ACLActionDrop, in})
		r.rule(on, rule{"deaf-" + key, nbdb.ACLDirectionToLport, ownPriority - 1, nbdb.ACLActionDrop, out})
	}
}

// request lets a member ask the relay of its DPU. What is renewed may come by the router; port security vouches for its source.
func (r *rows) request(m Member) {
	relay, ok := r.relays[m.Chassis]
	if !ok {
		return
	}
	asks := fmt.Sprintf("eth.src == %s && ip6.dst == ff02::1:2 && udp.dst == 547", m.HostMAC)
	if relay.Address.IsValid() {
		asks = fmt.Sprintf("udp.dst == 67 && ((eth.src == %s && ip4.dst == {255.255.255.255, %s})", m.HostMAC, relay.Address)
		for _, a := range m.Addresses {
			if a.HostIP.Is4() {
				asks += fmt.Sprintf(" || (eth.src == %s && ip4.src == %s && ip4.dst == %s)", r.Group.gatewayMAC(), a.HostIP, relay.Address)
			}
		}
		asks += ")"
	}
	r.rule(&r.logical.ACLs, rule{"asks-relay/" + m.UID, nbdb.ACLDirectionToLport, ownPriority, nbdb.ACLActionAllow,
		fmt.Sprintf("outport == %q && %s", relay.LogicalPort, asks)})
}
