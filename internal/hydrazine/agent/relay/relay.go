// Package relay is a DHCP relay for the hosts behind a DPU.
//
// A raw socket on an interface without an address receives the hosts' packets: the DPU's own kernel can't be reached by it.
// Code without sockets decides what passes, and rewrites it, packet by packet. To the server the relay sends from the DPU's
// address on the fabric; to hosts it acts as the server, so that a lease is renewed through it too.
//
// A host is one client. A server of DHCPv4 keeps leases by the client identifier (option 61), which a client chooses: a host
// that used one after the other would get all addresses, and one that used another host's would release that host's lease. Identifiers
// that aren't made of the MAC address can't be refused, as most clients have such: those of RFC 4361 send a DUID, firmware its UUID. So
// the server always sees the MAC address of the host's port, and the host its own identifier in the answer (RFC 6842). Firmware,
// installer and system of a host are one client then, and have one lease. A relay agent of RFC 1542 changes no such field; this
// one is the hosts' only way to the server.
//
// A client's message of DHCPv6 isn't changed by a relay (RFC 8415). The server gets the MAC address beside it (option 79, RFC
// 6939), new identities of a host are limited, and it can only release addresses of its own, under an identity that it has
// used.
package relay

import (
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Settings of a relay. The server's IP version decides between DHCPv4 and DHCPv6.
type Settings struct {
	Interface   string     // that receives the hosts' packets; the server distinguishes networks by its name
	MAC         MAC        // of the interface
	Address     netip.Addr // that hosts see as the server's; of DHCPv4 only
	Server      netip.Addr
	LinkAddress netip.Addr // of the network that hosts get their addresses from
	Underlay    netip.Addr // the DPU's, to which the server answers
	MTU         int        // of the hosts' network: the largest IP packet, in bytes
	Largest     int        // IP packet that the interface takes, in bytes
}

// MAC is an Ethernet address.
type MAC [6]byte

// ParseMAC reads the Ethernet address of one interface.
func ParseMAC(text string) (MAC, error) {
	parsed, err := net.ParseMAC(text)
	if err != nil {
		return MAC{}, fmt.Errorf("read an Ethernet address: %w", err)
	}
	if len(parsed) != len(MAC{}) || parsed[0]&1 != 0 || MAC(parsed) == (MAC{}) {
		return MAC{}, fmt.Errorf("%s isn't the Ethernet address of an interface", text)
	}
	return MAC(parsed), nil
}

func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

const (
	// maxMessage is the largest message that is relayed, in bytes. With what a relay adds it fits into a packet of 1500.
	maxMessage = 1400
	ipv4Header = 20
	ipv6Header = 40
)

// protocol is DHCPv4 or DHCPv6. An error says why something isn't relayed.
type protocol interface {
	// request turns a frame of a host's into a message to the server.
	request(frame []byte, now time.Time) ([]byte, error)
	// answer turns a message from an address into a frame for a host.
	answer(message []byte, from netip.Addr) ([]byte, error)
}

func (s Settings) protocol(behind Hosts) protocol {
	if s.Server.Is4() {
		return &v4{s, newHosts(behind)}
	}
	return &v6{s, newHosts(behind)}
}
