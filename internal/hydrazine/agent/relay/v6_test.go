package relay

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
	. "github.com/onsi/gomega"
)

var transactionID = dhcpv6.TransactionID{1, 2, 3}

func message6(kind dhcpv6.MessageType, change ...func(*dhcpv6.Message)) *dhcpv6.Message {
	m := &dhcpv6.Message{MessageType: kind, TransactionID: transactionID}
	m.AddOption(dhcpv6.OptClientID(&dhcpv6.DUIDLL{HWType: 1, LinkLayerAddr: hostMAC[:]}))
	for _, c := range change {
		c(m)
	}
	return m
}

// called is a client with another identifier.
func called(id dhcpv6.DUID) func(*dhcpv6.Message) {
	return func(m *dhcpv6.Message) { m.UpdateOption(dhcpv6.OptClientID(id)) }
}

// lease is an identity association with addresses.
func lease(association byte, addresses ...string) func(*dhcpv6.Message) {
	return func(m *dhcpv6.Message) {
		ia := &dhcpv6.OptIANA{IaId: [4]byte{association}}
		for _, a := range addresses {
			ia.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: net.ParseIP(a)})
		}
		m.AddOption(ia)
	}
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
	out, err := (&v6{settings6, newHosts(nil)}).request(d.frame(), noon)
	g.Expect(err).NotTo(HaveOccurred())
	m, err := dhcpv6.RelayMessageFromBytes(out)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.Type()).To(Equal(dhcpv6.MessageTypeRelayForward))
	g.Expect(m.HopCount).To(BeZero())
	g.Expect(m.LinkAddr.String()).To(Equal("fd10::1"))
	g.Expect(m.PeerAddr.String()).To(Equal(hostLink.String()))
	g.Expect(string(m.Options.InterfaceID())).To(Equal("relay-red"))
	g.Expect(m.Options.RelayMessage().ToBytes()).To(Equal(d.payload))
	kind, mac := m.Options.ClientLinkLayerAddress()
	g.Expect(kind).To(Equal(iana.HWTypeEthernet))
	g.Expect(mac.String()).To(Equal(hostMAC.String()), "option 79")
}

func TestRequest6_refused(t *testing.T) {
	t.Parallel()
	with := func(change func(*datagram)) datagram { d := solicitation(); change(&d); return d }
	forward := &dhcpv6.RelayMessage{MessageType: dhcpv6.MessageTypeRelayForward, LinkAddr: net.IPv6zero, PeerAddr: net.IPv6zero}
	forward.AddOption(dhcpv6.OptRelayMessage(message6(dhcpv6.MessageTypeSolicit)))
	for name, d := range map[string]datagram{
		"a relay's":        ask6(forward.ToBytes()),
		"a server's":       ask6(message6(dhcpv6.MessageTypeReply).ToBytes()),
		"lease query":      ask6(message6(dhcpv6.MessageTypeLeaseQuery).ToBytes()),
		"nothing":          ask6(nil),
		"broken options":   ask6([]byte{1, 1, 2, 3, 0, 1, 0, 99}),
		"oversize":         ask6(append(message6(dhcpv6.MessageTypeSolicit).ToBytes(), make([]byte, maxMessage)...)),
		"another's link":   with(func(d *datagram) { d.from = netip.MustParseAddrPort("[fe80::aff:fe0a:a03]:546") }),
		"two identifiers":  ask6(append(message6(dhcpv6.MessageTypeSolicit).ToBytes(), message6(dhcpv6.MessageTypeSolicit).ToBytes()[4:]...)),
		"a long one":       ask6(message6(dhcpv6.MessageTypeSolicit, called(&dhcpv6.DUIDOpaque{Type: 9, Data: make([]byte, 129)})).ToBytes()),
		"without a client": ask6(message6(dhcpv6.MessageTypeSolicit, lease(1), func(m *dhcpv6.Message) { m.Options.Del(dhcpv6.OptionClientID) }).ToBytes()),
		"a far address":    with(func(d *datagram) { d.from = netip.MustParseAddrPort("[fd10::2]:546") }),
		"all servers":      with(func(d *datagram) { d.to = netip.MustParseAddrPort("[ff05::1:3]:547") }),
		"another port":     with(func(d *datagram) { d.to = netip.AddrPortFrom(allServers, 546) }),
		"to the relay":     with(func(d *datagram) { d.toMAC = settings6.MAC }),
		"another version":  broadcast(ask(1)),
	} {
		_, err := (&v6{settings6, newHosts(nil)}).request(d.frame(), noon)
		NewWithT(t).Expect(err).To(HaveOccurred(), name)
	}
}

// reply is a server's to a solicitation.
func reply(change func(*dhcpv6.RelayMessage)) []byte {
	passed, err := (&v6{settings6, newHosts(nil)}).request(solicitation().frame(), noon)
	if err != nil {
		panic(err)
	}
	m := server6(passed, dhcpv6.MessageTypeAdvertise)
	change(m)
	return m.ToBytes()
}

// server6 is what a server answers to what the relay has passed on. It keeps to contract6, as a real one does.
func server6(passed []byte, kind dhcpv6.MessageType) *dhcpv6.RelayMessage {
	asked, err := dhcpv6.RelayMessageFromBytes(passed)
	if err != nil {
		panic(err)
	}
	inner := asked.Options.RelayMessage().(*dhcpv6.Message)
	m := &dhcpv6.RelayMessage{
		MessageType: dhcpv6.MessageTypeRelayReply, HopCount: asked.HopCount, LinkAddr: asked.LinkAddr, PeerAddr: asked.PeerAddr,
	}
	m.AddOption(dhcpv6.OptInterfaceID(asked.Options.InterfaceID()))
	answer := &dhcpv6.Message{MessageType: kind, TransactionID: inner.TransactionID}
	answer.AddOption(dhcpv6.OptClientID(inner.Options.ClientID()))
	answer.AddOption(dhcpv6.OptServerID(&dhcpv6.DUIDLL{HWType: 1, LinkLayerAddr: []byte{2, 0, 0, 0, 0, 3}}))
	m.AddOption(dhcpv6.OptRelayMessage(answer))
	return m
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
			r := &v6{settings6, newHosts(nil)}
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
	r := &v6{settings6, newHosts(nil)}
	_, err := r.answer(reply(func(*dhcpv6.RelayMessage) {}), netip.MustParseAddr("fd00::66"))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("isn't the server")))
}

// One MAC address asks as hundreds of clients, or one client for hundreds of leases: few are passed on within a lease's time.
func TestIdentities6_areFew(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]func(i int) *dhcpv6.Message{
		"clients": func(i int) *dhcpv6.Message {
			return message6(dhcpv6.MessageTypeSolicit, called(&dhcpv6.DUIDLL{HWType: 1, LinkLayerAddr: []byte{2, 0, 0, 0, byte(i >> 8), byte(i)}}), lease(1))
		},
		"leases": func(i int) *dhcpv6.Message {
			return message6(dhcpv6.MessageTypeRequest, func(m *dhcpv6.Message) {
				m.AddOption(&dhcpv6.OptIANA{IaId: [4]byte{byte(i >> 8), byte(i)}})
			})
		},
		"prefixes": func(i int) *dhcpv6.Message {
			return message6(dhcpv6.MessageTypeRebind, func(m *dhcpv6.Message) {
				m.AddOption(&dhcpv6.OptIAPD{IaId: [4]byte{byte(i >> 8), byte(i)}})
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r, passed := &v6{settings6, newHosts(present)}, 0
			for i := range 300 { // in a minute
				if _, err := r.request(ask6(message(i).ToBytes()).frame(), noon.Add(time.Duration(i)*200*time.Millisecond)); err == nil {
					passed++
				}
			}
			g.Expect(passed).To(Equal(newIdentities))
			g.Expect(r.hosts.all[asker{mac: hostMAC}].identities).To(HaveLen(newIdentities))
			later := noon.Add(time.Minute)
			_, err := r.request(ask6(message(0).ToBytes()).frame(), later)
			g.Expect(err).NotTo(HaveOccurred(), "who is known goes on")
			_, err = r.request(ask6(message(900).ToBytes()).frame(), later)
			g.Expect(err).To(MatchError(errIdentities))
			for i := range 100 { // a system that is another one at each boot
				_, err = r.request(ask6(message(1000+i).ToBytes()).frame(), later.Add(time.Duration(1+i)*identityInterval))
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(r.hosts.all[asker{mac: hostMAC}].identities).To(HaveLen(maxIdentities))
		})
	}
}

// No host gives back what another one has.
func TestRequest6_givesBackItsOwn(t *testing.T) {
	t.Parallel()
	victim := called(&dhcpv6.DUIDLL{HWType: 1, LinkLayerAddr: otherMAC[:]})
	for name, test := range map[string]struct {
		asked  *dhcpv6.Message
		back   []func(*dhcpv6.Message)
		behind Hosts
		says   string
	}{
		"its own":                 {message6(dhcpv6.MessageTypeSolicit, lease(1)), []func(*dhcpv6.Message){lease(1, "fd10::2")}, present, ""},
		"after a restart":         {message6(dhcpv6.MessageTypeRenew, lease(1, "fd10::2")), []func(*dhcpv6.Message){lease(1, "fd10::2")}, present, ""},
		"never asked":             {message6(dhcpv6.MessageTypeSolicit), []func(*dhcpv6.Message){lease(1, "fd10::2")}, present, errNotItsOwn.Error()},
		"another lease":           {message6(dhcpv6.MessageTypeSolicit, lease(1)), []func(*dhcpv6.Message){lease(2, "fd10::2")}, present, errNotItsOwn.Error()},
		"another's":               {message6(dhcpv6.MessageTypeSolicit, lease(1)), []func(*dhcpv6.Message){victim, lease(1, "fd10::3")}, present, errNotItsOwn.Error()},
		"another's, asked before": {message6(dhcpv6.MessageTypeRenew, victim, lease(1, "fd10::3")), []func(*dhcpv6.Message){victim, lease(1, "fd10::3")}, present, errNotItsOwn.Error()},
		"a neighbour's besides":   {message6(dhcpv6.MessageTypeSolicit, lease(1)), []func(*dhcpv6.Message){lease(1, "fd10::2", "fd10::3")}, present, errNotItsOwn.Error()},
		"a prefix": {message6(dhcpv6.MessageTypeSolicit, lease(1)), []func(*dhcpv6.Message){lease(1, "fd10::2"), func(m *dhcpv6.Message) {
			m.AddOption(&dhcpv6.OptIAPD{})
		}}, present, errNotItsOwn.Error()},
		"all of a lease":   {message6(dhcpv6.MessageTypeSolicit, lease(1)), []func(*dhcpv6.Message){lease(1)}, present, errNotItsOwn.Error()},
		"nothing is known": {message6(dhcpv6.MessageTypeSolicit, lease(1)), []func(*dhcpv6.Message){lease(1, "fd10::2")}, nil, errNotItsOwn.Error()},
		"a stranger":       {message6(dhcpv6.MessageTypeSolicit), nil, func() map[MAC][]netip.Addr { return map[MAC][]netip.Addr{otherMAC: nil} }, errStranger.Error()},
	} {
		for _, kind := range []dhcpv6.MessageType{dhcpv6.MessageTypeRelease, dhcpv6.MessageTypeDecline} {
			t.Run(name+"/"+kind.String(), func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				r := &v6{settings6, newHosts(test.behind)}
				_, _ = r.request(ask6(test.asked.ToBytes()).frame(), noon)
				_, err := r.request(ask6(message6(kind, test.back...).ToBytes()).frame(), noon)
				if test.says == "" {
					g.Expect(err).NotTo(HaveOccurred())
				} else {
					g.Expect(err).To(MatchError(ContainSubstring(test.says)))
				}
			})
		}
	}
}

// What isn't heard any more is forgotten.
func TestIdentities6_expire(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &v6{settings6, newHosts(present)}
	_, err := r.request(ask6(message6(dhcpv6.MessageTypeSolicit, lease(1)).ToBytes()).frame(), noon)
	g.Expect(err).NotTo(HaveOccurred())
	release := ask6(message6(dhcpv6.MessageTypeRelease, lease(1, "fd10::2")).ToBytes()).frame()
	_, err = r.request(release, noon.Add(identityAge+time.Second))
	g.Expect(err).To(MatchError(errNotItsOwn))
}
