package relay

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/iana"
)

const (
	serverPort4, clientPort4 = 67, 68
	// maxHops is as RFC 1542 has it.
	maxHops = 16
	// Where the fields for a server's and a file's name are in a message. Options may continue there.
	serverName, fileName, afterNames = 44, 108, 236
)

var (
	broadcastMAC = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	broadcast4   = netip.AddrFrom4([4]byte{255, 255, 255, 255})

	// optionVSS selects a virtual network (RFC 6607).
	optionVSS = dhcpv4.GenericOptionCode(221)
)

// v4 is DHCPv4.
type v4 struct {
	Settings
	hosts *hosts
}

func (r *v4) request(frame []byte, now time.Time) ([]byte, error) {
	d, err := parse(frame)
	if err != nil {
		return nil, err
	}
	direct := d.toMAC == broadcastMAC && d.to.Addr() == broadcast4
	own := d.toMAC == r.MAC && d.to.Addr() == r.Address
	if d.to.Port() != serverPort4 || !direct && !own {
		return nil, errors.New("it isn't for a DHCP server")
	}
	m, err := r.readRequest(d, own)
	if err != nil {
		return nil, err
	}
	mac := MAC(m.ClientHWAddr)
	if err := r.mayAsk(d, m, mac); err != nil {
		return nil, err
	}
	server, err := r.hosts.ask(question{
		mac: mac, routed: d.fromMAC != mac, transaction: m.TransactionID, peer: d.from.Addr(),
		identifier: m.Options.Get(dhcpv4.OptionClientIdentifier),
	}, now)
	if err != nil {
		return nil, err
	}
	m.UpdateOption(dhcpv4.OptClientIdentifier(identifier4(mac)))
	if said, ok := netip.AddrFromSlice(m.ServerIdentifier()); ok && said.Unmap() == r.Address {
		if !server.IsValid() { // the relay has been restarted since
			server = r.Server
		}
		m.UpdateOption(dhcpv4.OptServerIdentifier(server.AsSlice()))
	}
	m.HopCount++
	m.GatewayIPAddr = r.Underlay.AsSlice()
	// Only the relay may choose the network of an address.
	m.DeleteOption(dhcpv4.OptionSubnetSelection)
	m.DeleteOption(optionVSS)
	m.UpdateOption(dhcpv4.OptRelayAgentInfo(
		dhcpv4.OptGeneric(dhcpv4.AgentCircuitIDSubOption, []byte(r.Interface)),
		dhcpv4.OptGeneric(dhcpv4.LinkSelectionSubOption, r.LinkAddress.AsSlice()),
		dhcpv4.OptGeneric(dhcpv4.ServerIdentifierOverrideSubOption, r.Address.AsSlice()),
	))
	return m.ToBytes(), nil
}

// identifier4 is the client identifier for the server, whatever the host sends (RFC 2132, section 9.14).
func identifier4(mac MAC) []byte { return append([]byte{byte(iana.HWTypeEthernet)}, mac[:]...) }

// mayAsk reports whether the MAC address is that of a host behind this DPU, the address by which it asks through a router is
// that host's, and so is the one that it gives back. Servers answer an inform to ciaddr, past the relay: so that is the host's
// too.
func (r *v4) mayAsk(d datagram, m *dhcpv4.DHCPv4, mac MAC) error {
	own, known, err := r.hosts.addresses(mac)
	if err != nil || !known {
		return err
	}
	if d.fromMAC != mac && !slices.Contains(own, d.from.Addr()) {
		return errors.New("a host asks for another one")
	}
	var of net.IP
	switch m.MessageType() {
	case dhcpv4.MessageTypeRelease, dhcpv4.MessageTypeInform:
		of = m.ClientIPAddr
	case dhcpv4.MessageTypeDecline:
		of = m.RequestedIPAddress()
	default:
		return nil
	}
	if a, _ := netip.AddrFromSlice(of.To4()); !slices.Contains(own, a) {
		return errNotItsOwn
	}
	return nil
}

// readRequest reads a request, and refuses what a DHCP client doesn't send. What comes through a router has the router's
// MAC address; then the host's IP address identifies it.
func (r *v4) readRequest(d datagram, routed bool) (*dhcpv4.DHCPv4, error) {
	if len(d.payload) > maxMessage {
		return nil, fmt.Errorf("it has %d bytes", len(d.payload))
	}
	m, err := dhcpv4.FromBytes(d.payload)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	client, _ := netip.AddrFromSlice(m.ClientIPAddr.To4())
	switch {
	case m.OpCode != dhcpv4.OpcodeBootRequest:
		return nil, errors.New("a host answers as if it were a server")
	case !m.GatewayIPAddr.IsUnspecified() || m.Options.Has(dhcpv4.OptionRelayAgentInformation):
		return nil, errors.New("a host behaves as a relay")
	case m.Options.Has(dhcpv4.OptionOptionOverload): // whatever hides in there
		return nil, errors.New("options continue in other fields")
	case m.HopCount >= maxHops:
		return nil, errors.New("it has passed too many relays")
	case len(m.Options.Get(dhcpv4.OptionClientIdentifier)) > math.MaxUint8:
		return nil, errors.New("its client identifier is too long")
	case m.HWType != iana.HWTypeEthernet || len(m.ClientHWAddr) != len(MAC{}):
		return nil, errors.New("its client isn't on an Ethernet")
	case d.fromMAC != MAC(m.ClientHWAddr) && (!routed || client.IsUnspecified() || client != d.from.Addr()):
		return nil, errors.New("a host asks for another one")
	case !sends(m.MessageType(), d.fromMAC != MAC(m.ClientHWAddr)):
		return nil, fmt.Errorf("hosts don't send %s that way", m.MessageType())
	}
	return m, nil
}

// sends reports whether hosts send messages of a type. Through a router only hosts with an address do.
func sends(kind dhcpv4.MessageType, routed bool) bool {
	switch kind {
	case dhcpv4.MessageTypeRequest, dhcpv4.MessageTypeRelease, dhcpv4.MessageTypeInform:
		return true
	case dhcpv4.MessageTypeDiscover, dhcpv4.MessageTypeDecline:
		return !routed
	default:
		return false
	}
}

func (r *v4) answer(message []byte, from netip.Addr) ([]byte, error) {
	m, err := r.readAnswer(message, from)
	if err != nil {
		return nil, err
	}
	server, ok := netip.AddrFromSlice(m.ServerIdentifier())
	if !ok {
		return nil, errors.New("the server doesn't say how it calls itself")
	}
	identifier, err := r.hosts.answered(MAC(m.ClientHWAddr), m.TransactionID, server.Unmap())
	if err != nil {
		return nil, err
	}
	m.DeleteOption(dhcpv4.OptionClientIdentifier)
	if identifier != nil { // a client doesn't accept what is for another one (RFC 6842)
		m.UpdateOption(dhcpv4.OptClientIdentifier(identifier))
	}
	m.DeleteOption(dhcpv4.OptionRelayAgentInformation)
	m.UpdateOption(dhcpv4.OptServerIdentifier(r.Address.AsSlice()))
	m.GatewayIPAddr = nil // not for the tenant
	if m.MessageType() != dhcpv4.MessageTypeNak {
		r.limitMTU(m)
	}
	to, toMAC := destination(m)
	payload := m.ToBytes()
	if len(payload) > r.Largest-ipv4Header-udpHeader {
		return nil, fmt.Errorf("its %d bytes don't fit through the network", len(payload))
	}
	return datagram{
		fromMAC: r.MAC, toMAC: toMAC, payload: payload,
		from: netip.AddrPortFrom(r.Address, serverPort4), to: netip.AddrPortFrom(to, clientPort4),
	}.frame(), nil
}

// readAnswer reads an answer, and refuses what isn't the server's answer to a request that was relayed here.
func (r *v4) readAnswer(message []byte, from netip.Addr) (*dhcpv4.DHCPv4, error) {
	if from != r.Server {
		return nil, fmt.Errorf("%s isn't the server", from)
	}
	m, err := dhcpv4.FromBytes(message)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if err := unfold(m, message); err != nil {
		return nil, err
	}
	info := m.RelayAgentInfo()
	switch {
	case m.OpCode != dhcpv4.OpcodeBootReply:
		return nil, errors.New("the server asks as if it were a client")
	case m.HWType != iana.HWTypeEthernet || len(m.ClientHWAddr) != len(MAC{}):
		return nil, errors.New("its client isn't on an Ethernet")
	case !m.GatewayIPAddr.Equal(r.Underlay.AsSlice()):
		return nil, errors.New("it is for another relay")
	case info == nil || !bytes.Equal(info.Get(dhcpv4.AgentCircuitIDSubOption), []byte(r.Interface)):
		return nil, errors.New("it is for another network")
	}
	switch m.MessageType() {
	case dhcpv4.MessageTypeOffer, dhcpv4.MessageTypeAck, dhcpv4.MessageTypeNak:
		return m, nil
	default:
		return nil, fmt.Errorf("servers don't send %s", m.MessageType())
	}
}

// unfold brings back options that were put into the fields for names, for lack of room (option 52).
func unfold(m *dhcpv4.DHCPv4, message []byte) error {
	overload := m.Options.Get(dhcpv4.OptionOptionOverload)
	if overload == nil {
		return nil
	}
	if len(overload) != 1 || overload[0] == 0 || overload[0] > 3 {
		return errors.New("it doesn't say where its options continue")
	}
	m.DeleteOption(dhcpv4.OptionOptionOverload)
	if overload[0]&1 != 0 {
		m.BootFileName = ""
		if err := m.Options.FromBytes(message[fileName:afterNames]); err != nil {
			return fmt.Errorf("read the options in the file's name: %w", err)
		}
	}
	if overload[0]&2 != 0 {
		m.ServerHostName = ""
		if err := m.Options.FromBytes(message[serverName:fileName]); err != nil {
			return fmt.Errorf("read the options in the server's name: %w", err)
		}
	}
	return nil
}

// limitMTU makes sure that the host's packets fit through tunnels: larger ones are dropped silently.
func (r *v4) limitMTU(m *dhcpv4.DHCPv4) {
	given, err := dhcpv4.GetUint16(dhcpv4.OptionInterfaceMTU, m.Options)
	if err != nil || int(given) > r.MTU {
		fits := dhcpv4.Uint16(min(r.MTU, math.MaxUint16)) //nolint:gosec // an MTU is positive
		m.UpdateOption(dhcpv4.Option{Code: dhcpv4.OptionInterfaceMTU, Value: fits})
	}
}

// destination is as RFC 2131, section 4.1, has it.
func destination(m *dhcpv4.DHCPv4) (netip.Addr, MAC) {
	client, _ := netip.AddrFromSlice(m.ClientIPAddr.To4())
	yours, _ := netip.AddrFromSlice(m.YourIPAddr.To4())
	switch {
	case m.MessageType() == dhcpv4.MessageTypeNak:
		return broadcast4, broadcastMAC // its address isn't valid
	case !client.IsUnspecified():
		return client, MAC(m.ClientHWAddr)
	case m.IsBroadcast() || yours.IsUnspecified():
		return broadcast4, broadcastMAC
	default:
		return yours, MAC(m.ClientHWAddr)
	}
}
