package topology

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/netip"
)

// FabricNetwork is how the agents' bridge mappings call the fabric.
const FabricNetwork = "fabric"

// What OVN calls things. Names of Kubernetes objects have no underscore, so none of these can be mistaken for another.

// SwitchName is the name of a group's logical switch: the network itself.
func SwitchName(group string) string { return "ls-" + group }

// RouterName is the logical router's.
func (g Group) RouterName() string { return "lr-" + g.Name }

// PortName is the name of a member's port on the logical switch, which its DPU has to know. A member that was made anew has
// another one, although its own name is the same: a DPU that still has the old one must not get the new one's place.
func PortName(uid, name string) string {
	sum := sha256.Sum256([]byte(uid))
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

// gatewayMAC is the logical router's on the group's network. It differs between groups: a host that moves has another
// gateway.
func (g Group) gatewayMAC() string {
	sum := sha256.Sum256([]byte(g.UID))
	return net.HardwareAddr(append([]byte{0x02}, sum[:5]...)).String()
}

// portMAC is that of a router's port with an address that no other port on its network has. The first byte tells links from
// the fabric. All are locally administered.
func portMAC(first byte, a netip.Addr) string {
	if a.Is4() {
		b := a.As4()
		return net.HardwareAddr(append([]byte{first, 0}, b[:]...)).String()
	}
	b := a.As16()
	sum := sha256.Sum256(b[:])
	return net.HardwareAddr(append([]byte{first | 0x10}, sum[:5]...)).String()
}
