package relay

import (
	"net"
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv6"
	. "github.com/onsi/gomega"
)

var (
	hostLink      = netip.MustParseAddr("fe80::aff:fe0a:a02")
	transactionID = dhcpv6.TransactionID{1, 2, 3}
)

func message6(kind dhcpv6.MessageType) *dhcpv6.Message {
	m := &dhcpv6.Message{MessageType: kind, TransactionID: transactionID}
	m.AddOption(dhcpv6.OptClientID(&dhcpv6.DUIDLL{HWType: 1, LinkLayerAddr: hostMAC[:]}))
	return m
}

func ask6(payload []byte) datagram {
	return datagram{
		fromMAC: hostMAC, toMAC: allServersMAC, payload: payload,
		from: netip.AddrPortFrom(hostLink, 546), to: netip.AddrPortFrom(allServers, 547),
	}
}

func solicitation() datagram { return ask6(message6(dhcpv6.MessageTypeSolicit).ToBytes()) }

func TestRequest6(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := solicitation()
	out, err := (&v6{settings6, newHosts()}).request(d.frame(), noon)
	g.Expect(err).NotTo(HaveOccurred())
	m, err := dhcpv6.RelayMessageFromBytes(out)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.Type()).To(Equal(dhcpv6.MessageTypeRelayForward))
	g.Expect(m.HopCount).To(BeZero())
	g.Expect(m.LinkAddr.String()).To(Equal("fd10::1"))
	g.Expect(m.PeerAddr.String()).To(Equal(hostLink.String()))
	g.Expect(string(m.Options.InterfaceID())).To(Equal("relay-red"))
	g.Expect(m.Options.RelayMessage().ToBytes()).To(Equal(d.payload))
}

func TestRequest6_refused(t *testing.T) {
	t.Parallel()
	with := func(change func(*datagram)) datagram { d := solicitation(); change(&d); return d }
	forward := &dhcpv6.RelayMessage{MessageType: dhcpv6.MessageTypeRelayForward, LinkAddr: net.IPv6zero, PeerAddr: net.IPv6zero}
	forward.AddOption(dhcpv6.OptRelayMessage(message6(dhcpv6.MessageTypeSolicit)))
	for name, d := range map[string]datagram{
		"a relay's":       ask6(forward.ToBytes()),
		"a server's":      ask6(message6(dhcpv6.MessageTypeReply).ToBytes()),
		"lease query":     ask6(message6(dhcpv6.MessageTypeLeaseQuery).ToBytes()),
		"nothing":         ask6(nil),
		"broken options":  ask6([]byte{1, 1, 2, 3, 0, 1, 0, 99}),
		"oversize":        ask6(append(message6(dhcpv6.MessageTypeSolicit).ToBytes(), make([]byte, maxMessage)...)),
		"a far address":   with(func(d *datagram) { d.from = netip.MustParseAddrPort("[fd10::2]:546") }),
		"all servers":     with(func(d *datagram) { d.to = netip.MustParseAddrPort("[ff05::1:3]:547") }),
		"another port":    with(func(d *datagram) { d.to = netip.AddrPortFrom(allServers, 546) }),
		"to the relay":    with(func(d *datagram) { d.toMAC = settings6.MAC }),
		"another version": broadcast(ask(1)),
	} {
		_, err := (&v6{settings6, newHosts()}).request(d.frame(), noon)
		NewWithT(t).Expect(err).To(HaveOccurred(), name)
	}
}

// reply is a server's to a solicitation.
func reply(change func(*dhcpv6.RelayMessage)) []byte {
	m := &dhcpv6.RelayMessage{
		MessageType: dhcpv6.MessageTypeRelayReply, LinkAddr: settings6.LinkAddress.AsSlice(), PeerAddr: hostLink.AsSlice(),
	}
	m.AddOption(dhcpv6.OptInterfaceID([]byte("relay-red")))
	m.AddOption(dhcpv6.OptRelayMessage(message6(dhcpv6.MessageTypeAdvertise)))
	change(m)
	return m.ToBytes()
}

func TestAnswer6(t *testing.T) {
	t.Parallel()
	inner := func(m dhcpv6.DHCPv6) func(*dhcpv6.RelayMessage) {
		return func(outer *dhcpv6.RelayMessage) { outer.UpdateOption(dhcpv6.OptRelayMessage(m)) }
	}
	another := message6(dhcpv6.MessageTypeAdvertise)
	another.TransactionID[0]++
	for name, test := range map[string]struct {
		change func(*dhcpv6.RelayMessage)
		passed bool
	}{
		"advertise":           {func(*dhcpv6.RelayMessage) {}, true},
		"reply":               {inner(message6(dhcpv6.MessageTypeReply)), true},
		"another network":     {func(m *dhcpv6.RelayMessage) { m.UpdateOption(dhcpv6.OptInterfaceID([]byte("relay-blue"))) }, false},
		"no interface":        {func(m *dhcpv6.RelayMessage) { m.Options.Del(dhcpv6.OptionInterfaceID) }, false},
		"another link":        {func(m *dhcpv6.RelayMessage) { m.LinkAddr = net.IPv6loopback }, false},
		"another host":        {func(m *dhcpv6.RelayMessage) { m.PeerAddr = net.ParseIP("fe80::99") }, false},
		"another transaction": {inner(another), false},
		"another relay":       {func(m *dhcpv6.RelayMessage) { m.HopCount = 1 }, false},
		"a request":           {func(m *dhcpv6.RelayMessage) { m.MessageType = dhcpv6.MessageTypeRelayForward }, false},
		"a client's message":  {inner(message6(dhcpv6.MessageTypeSolicit)), false},
		"one for a relay": {inner(&dhcpv6.RelayMessage{
			MessageType: dhcpv6.MessageTypeRelayReply, LinkAddr: net.IPv6zero, PeerAddr: net.IPv6zero,
		}), false},
		"nothing in it": {func(m *dhcpv6.RelayMessage) { m.Options.Del(dhcpv6.OptionRelayMsg) }, false},
		"too large": {func(m *dhcpv6.RelayMessage) {
			m.UpdateOption(&dhcpv6.OptionGeneric{OptionCode: dhcpv6.OptionRelayMsg, OptionData: append(
				message6(dhcpv6.MessageTypeReply).ToBytes(), append([]byte{0, 99, 5, 0xa0}, make([]byte, 0x5a0)...)...)})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := &v6{settings6, newHosts()}
			_, err := r.request(solicitation().frame(), noon)
			g.Expect(err).NotTo(HaveOccurred())
			frame, err := r.answer(reply(test.change), r.Server)
			if !test.passed {
				g.Expect(err).To(HaveOccurred())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			d, err := parse(frame)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(d.toMAC).To(Equal(hostMAC))
			g.Expect(d.to).To(Equal(netip.AddrPortFrom(hostLink, 546)))
			g.Expect(d.from).To(Equal(netip.MustParseAddrPort("[fe80::fe:ff:fe00:5]:547")))
			_, err = dhcpv6.MessageFromBytes(d.payload)
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
	r := &v6{settings6, newHosts()}
	_, err := r.answer(reply(func(*dhcpv6.RelayMessage) {}), netip.MustParseAddr("fd00::66"))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("isn't the server")))
}
