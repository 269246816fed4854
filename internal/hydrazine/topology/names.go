package topology

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/netip"
	"strings"
)

// FabricNetwork is how the agents' bridge mappings call the fabric.
const FabricNetwork = "fabric"

// What OVN calls things. Names of Kubernetes objects have no underscore, so none of these can be mistaken for another.

// SwitchName is the name of a group's logical switch: the network itself.
func SwitchName(group string) string { return "ls-" + group }

// RouterName is the logical router's.
func (g Group) RouterName() string { return "lr-" + g.Name }

// PortName is the name of a member's port on the logical switch, which its DPU has to know. A recreated member has another
// one, although its own name is the same: a DPU that still has the old one must not get the new one's place.
func PortName(uid, name string) string {
	sum := digest(uid)
	return name + "_" + hex.EncodeToString(sum[:4])
}

// TransitName is that of the switch between the logical router and the member's gateway router.
func (m Member) TransitName() string { return "ts-" + m.Name }

// GatewayName is the gateway router's.
func (m Member) GatewayName() string { return "gr-" + m.Name }

// PublicName is that of the switch between the gateway router and the fabric.
func (m Member) PublicName() string { return "ps-" + m.Name }

// portBetween is on one of them and leads to the other.
func portBetween(from, to string) string { return from + "_" + to }

// RelayInterface is the name of the relays' interfaces on all DPUs of a group, and so what a DHCP server knows the group by. It
// has 15 letters, as many as Linux takes.
func RelayInterface(group string) string {
	sum := digest(group)
	return "hz-" + hex.EncodeToString(sum[:6])
}

// relayPort has more digits than any member's port.
func (g Group) relayPort(chassis string) string {
	sum := digest(g.UID, chassis)
	return "relay_" + hex.EncodeToString(sum[:8])
}

// portGroup is the name of a set of ports. OVN calls their addresses so too, with _ip4 or _ip6 behind.
func (g Group) portGroup(of string) string { return identifier("pg", g.UID, of) }

// identifier is a name that can stand in a match, whatever it was made of.
func identifier(kind string, of ...string) string {
	sum := digest(of...)
	return kind + "_" + hex.EncodeToString(sum[:8])
}

// First bytes of the MAC addresses of routers' ports and relays.
const (
	gatewayMAC = 0x02
	linkMAC    = 0x06
	fabricMAC  = 0x0a
	relayMAC   = 0x0e
)

// gatewayMAC is the logical router's on the group's network. It differs between groups: a host that moves has another
// gateway.
func (g Group) gatewayMAC() string {
	sum := digest(g.UID)
	return net.HardwareAddr(append([]byte{gatewayMAC}, sum[:5]...)).String()
}

// relayMAC differs between DPUs.
func (g Group) relayMAC(chassis string) string {
	sum := digest(g.UID, chassis)
	return net.HardwareAddr(append([]byte{relayMAC}, sum[:5]...)).String()
}

// portMAC is that of a router's port with an address that no other port on its network has. The first byte distinguishes
// links from the fabric. All are locally administered.
func portMAC(first byte, a netip.Addr) string {
	if a.Is4() {
		b := a.As4()
		return net.HardwareAddr(append([]byte{first, 0}, b[:]...)).String()
	}
	b := a.As16()
	sum := sha256.Sum256(b[:])
	return net.HardwareAddr(append([]byte{first | 0x10}, sum[:5]...)).String()
}

// linkLocalOf a port with this MAC address, as OVN gives it one (RFC 4291, appendix A).
func linkLocalOf(mac string) netip.Addr {
	m, _ := net.ParseMAC(mac) // one of ours
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 8: m[0] ^ 2, 9: m[1], 10: m[2], 11: 0xff, 12: 0xfe, 13: m[3], 14: m[4], 15: m[5]})
}

func digest(of ...string) [sha256.Size]byte { return sha256.Sum256([]byte(strings.Join(of, "/"))) }
