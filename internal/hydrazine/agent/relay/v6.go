package relay

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
)

const (
	serverPort6, clientPort6 = 547, 546
	// maxDUID is as RFC 8415, section 11.1, has it: a type, and 128 bytes.
	maxDUID = 130
)

var (
	// allServers is where clients ask: all relays and servers of DHCP on a link.
	allServers    = netip.MustParseAddr("ff02::1:2")
	allServersMAC = MAC{0x33, 0x33, 0, 1, 0, 2}
)

// v6 is DHCPv6.
type v6 struct {
	Settings
	hosts *hosts
}

func (r *v6) request(frame []byte, now time.Time) ([]byte, error) {
	d, err := parse(frame)
	switch {
	case err != nil:
		return nil, err
	case d.to != netip.AddrPortFrom(allServers, serverPort6) || d.toMAC != allServersMAC:
		return nil, errors.New("it isn't for a DHCP server")
	case d.from.Addr() != linkLocal(d.fromMAC): // OVN lets no other address through
		return nil, fmt.Errorf("%s isn't the address of the link that follows from %s", d.from.Addr(), d.fromMAC)
	case len(d.payload) > maxMessage:
		return nil, fmt.Errorf("it has %d bytes", len(d.payload))
	}
	m, err := dhcpv6.MessageFromBytes(d.payload) // not from a relay: none is between a host and its DPU
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	switch m.Type() {
	case dhcpv6.MessageTypeSolicit, dhcpv6.MessageTypeRequest, dhcpv6.MessageTypeConfirm, dhcpv6.MessageTypeRenew,
		dhcpv6.MessageTypeRebind, dhcpv6.MessageTypeRelease, dhcpv6.MessageTypeDecline,
		dhcpv6.MessageTypeInformationRequest:
	default:
		return nil, fmt.Errorf("hosts don't send %s", m.Type())
	}
	own, known, err := r.hosts.addresses(d.fromMAC)
	if err != nil {
		return nil, err
	}
	q := question{mac: d.fromMAC, transaction: transaction6(m), peer: d.from.Addr()}
	if q.identities, err = identities(m); err != nil {
		return nil, err
	}
	if m.Type() == dhcpv6.MessageTypeRelease || m.Type() == dhcpv6.MessageTypeDecline {
		q.givesBack = true
		if !known || !givesBack(m, own) {
			return nil, errNotItsOwn
		}
	}
	if _, err := r.hosts.ask(q, now); err != nil {
		return nil, err
	}
	forward := dhcpv6.RelayMessage{
		MessageType: dhcpv6.MessageTypeRelayForward,
		LinkAddr:    r.LinkAddress.AsSlice(), PeerAddr: d.from.Addr().AsSlice(),
	}
	forward.AddOption(dhcpv6.OptInterfaceID([]byte(r.Interface)))
	forward.AddOption(dhcpv6.OptClientLinkLayerAddress(iana.HWTypeEthernet, d.fromMAC[:]))
	// Unchanged: it may be signed.
	forward.AddOption(&dhcpv6.OptionGeneric{OptionCode: dhcpv6.OptionRelayMsg, OptionData: d.payload})
	return forward.ToBytes(), nil
}

// identities under which a message requests or names leases.
func identities(m *dhcpv6.Message) (all []identity, err error) {
	ids := m.Options.Get(dhcpv6.OptionClientID)
	if len(ids) > 1 || len(ids) == 1 && len(ids[0].ToBytes()) > maxDUID {
		return nil, errors.New("it doesn't say who it is")
	}
	for _, o := range m.Options.Options {
		var association [4]byte
		switch o := o.(type) {
		case *dhcpv6.OptIANA:
			association = o.IaId
		case *dhcpv6.OptIATA:
			association = o.IaId
		case *dhcpv6.OptIAPD:
			association = o.IaId
		default:
			continue
		}
		if len(ids) == 0 || len(all) == maxIdentities {
			return nil, errors.New("it asks for leases without a client identifier, or for too many")
		}
		kind := binary.BigEndian.AppendUint16(nil, uint16(o.Code()))
		id := identity(sha256.Sum256(slices.Concat(kind, association[:], ids[0].ToBytes())))
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all, nil
}

// givesBack reports whether a message gives back addresses of its host's own, and nothing else.
func givesBack(m *dhcpv6.Message, own []netip.Addr) bool {
	for _, o := range m.Options.Options {
		switch o := o.(type) {
		case *dhcpv6.OptIATA, *dhcpv6.OptIAPD:
			return false // Hydrazine assigns hosts no such addresses
		case *dhcpv6.OptIANA:
			named := o.Options.Addresses()
			if len(named) == 0 {
				return false // a server may take that for all of them
			}
			for _, address := range named {
				if a, _ := netip.AddrFromSlice(address.IPv6Addr); !slices.Contains(own, a) {
					return false
				}
			}
		}
	}
	return true
}

func transaction6(m *dhcpv6.Message) [4]byte {
	return [4]byte{1: m.TransactionID[0], 2: m.TransactionID[1], 3: m.TransactionID[2]}
}

func (r *v6) answer(message []byte, from netip.Addr) ([]byte, error) {
	if from != r.Server {
		return nil, fmt.Errorf("%s isn't the server", from)
	}
	peer, payload, err := r.unwrap(message)
	if err != nil {
		return nil, err
	}
	m, err := dhcpv6.MessageFromBytes(payload)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	switch m.Type() {
	case dhcpv6.MessageTypeAdvertise, dhcpv6.MessageTypeReply:
	default:
		return nil, fmt.Errorf("servers don't send %s", m.Type())
	}
	toMAC, err := r.hosts.byPeer(peer, transaction6(m))
	if err != nil {
		return nil, err
	}
	if len(payload) > r.Largest-ipv6Header-udpHeader {
		return nil, fmt.Errorf("its %d bytes don't fit through the network", len(payload))
	}
	return datagram{
		fromMAC: r.MAC, toMAC: toMAC, payload: payload,
		from: netip.AddrPortFrom(linkLocal(r.MAC), serverPort6), to: netip.AddrPortFrom(peer, clientPort6),
	}.frame(), nil
}

// unwrap takes the message for a host out of the server's for the relay.
func (r *v6) unwrap(message []byte) (peer netip.Addr, payload []byte, err error) {
	if len(message) < dhcpv6.RelayHeaderSize || dhcpv6.MessageType(message[0]) != dhcpv6.MessageTypeRelayReply {
		return netip.Addr{}, nil, errors.New("it isn't for a relay")
	}
	link, peer := netip.AddrFrom16([16]byte(message[2:])), netip.AddrFrom16([16]byte(message[18:]))
	var options dhcpv6.Options
	asTheyAre := func(code dhcpv6.OptionCode, data []byte) (dhcpv6.Option, error) {
		return &dhcpv6.OptionGeneric{OptionCode: code, OptionData: data}, nil
	}
	if err := options.FromBytesWithParser(message[dhcpv6.RelayHeaderSize:], asTheyAre); err != nil {
		return netip.Addr{}, nil, fmt.Errorf("read what is for the relay: %w", err)
	}
	id, inner := options.GetOne(dhcpv6.OptionInterfaceID), options.GetOne(dhcpv6.OptionRelayMsg)
	switch {
	case link != r.LinkAddress || id == nil || !bytes.Equal(id.ToBytes(), []byte(r.Interface)):
		return netip.Addr{}, nil, errors.New("it is for another network")
	case message[1] != 0: // the server repeats what it got
		return netip.Addr{}, nil, errors.New("it is for a relay behind this one")
	case inner == nil:
		return netip.Addr{}, nil, errors.New("there is nothing in it")
	}
	return peer, inner.ToBytes(), nil
}

// linkLocal is the address of the link that follows from a MAC address (RFC 4291, appendix A).
func linkLocal(mac MAC) netip.Addr {
	return netip.AddrFrom16([16]byte(append(net.IP{0xfe, 0x80, 0, 0, 0, 0, 0, 0},
		mac[0]^2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5])))
}
