package relay

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"
)

// ask is a message as clients send it.
func ask(kind dhcpv4.MessageType, change ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
	m, err := dhcpv4.New(append([]dhcpv4.Modifier{dhcpv4.WithMessageType(kind), dhcpv4.WithHwAddr(hostMAC[:])}, change...)...)
	if err != nil {
		panic(err)
	}
	return m
}

// broadcast is how a message comes from a host without an address.
func broadcast(m *dhcpv4.DHCPv4) datagram {
	return datagram{
		fromMAC: hostMAC, toMAC: broadcastMAC, payload: m.ToBytes(),
		from: netip.MustParseAddrPort("0.0.0.0:68"), to: netip.AddrPortFrom(broadcast4, 67),
	}
}

// renewal is how a message comes from a host that has an address, from a MAC address.
func renewal(m *dhcpv4.DHCPv4, mac MAC) datagram {
	return datagram{
		fromMAC: mac, toMAC: settings4.MAC, payload: m.ToBytes(),
		from: netip.AddrPortFrom(hostIP, 68), to: netip.AddrPortFrom(settings4.Address, 67),
	}
}

// pass sends a datagram through a new relay, and returns what comes out.
func pass(d datagram) (*dhcpv4.DHCPv4, error) {
	out, err := (&v4{settings4, newHosts(nil)}).request(d.frame(), noon)
	if err != nil {
		return nil, err
	}
	return dhcpv4.FromBytes(out)
}

var ciaddr = dhcpv4.WithClientIP(hostIP.AsSlice())

func TestRequest4(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]datagram{
		"discover":                  broadcast(ask(dhcpv4.MessageTypeDiscover)),
		"request":                   broadcast(ask(dhcpv4.MessageTypeRequest)),
		"decline":                   broadcast(ask(dhcpv4.MessageTypeDecline)),
		"rebinding":                 broadcast(ask(dhcpv4.MessageTypeRequest, ciaddr)),
		"renewal on the link":       renewal(ask(dhcpv4.MessageTypeRequest, ciaddr), hostMAC),
		"renewal by the router":     renewal(ask(dhcpv4.MessageTypeRequest, ciaddr), gatewayMAC),
		"release":                   renewal(ask(dhcpv4.MessageTypeRelease, ciaddr), gatewayMAC),
		"inform":                    renewal(ask(dhcpv4.MessageTypeInform, ciaddr), hostMAC),
		"with a foreign network":    broadcast(ask(dhcpv4.MessageTypeDiscover, dhcpv4.WithGeneric(dhcpv4.OptionSubnetSelection, []byte{10, 0, 0, 1}))),
		"with a virtual network":    broadcast(ask(dhcpv4.MessageTypeDiscover, dhcpv4.WithGeneric(optionVSS, []byte{0, 'x'}))),
		"with the flag for answers": broadcast(ask(dhcpv4.MessageTypeDiscover, dhcpv4.WithBroadcast(true))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			before, err := dhcpv4.FromBytes(d.payload)
			g.Expect(err).NotTo(HaveOccurred())
			m, err := pass(d)
			g.Expect(err).NotTo(HaveOccurred())
			info := m.RelayAgentInfo()
			g.Expect(string(info.Get(dhcpv4.AgentCircuitIDSubOption))).To(Equal("relay-red"))
			g.Expect(info.Get(dhcpv4.LinkSelectionSubOption)).To(Equal([]byte{10, 10, 10, 1}))
			g.Expect(info.Get(dhcpv4.ServerIdentifierOverrideSubOption)).To(Equal([]byte{169, 254, 128, 5}))
			g.Expect(m.Options.Get(dhcpv4.OptionClientIdentifier)).To(Equal([]byte{1, 2, 0, 10, 10, 10, 2}))
			g.Expect(m.GatewayIPAddr.String()).To(Equal("172.18.0.5"))
			g.Expect(m.HopCount).To(BeEquivalentTo(1))
			g.Expect(m.Options.Has(dhcpv4.OptionSubnetSelection)).To(BeFalse())
			g.Expect(m.Options.Has(optionVSS)).To(BeFalse())
			g.Expect(m.ClientIPAddr.Equal(before.ClientIPAddr)).To(BeTrue())
			g.Expect(m.TransactionID).To(Equal(before.TransactionID))
			g.Expect(m.Flags).To(Equal(before.Flags))
		})
	}
}

func TestRequest4_refused(t *testing.T) {
	t.Parallel()
	discover := func(change ...dhcpv4.Modifier) datagram { return broadcast(ask(dhcpv4.MessageTypeDiscover, change...)) }
	with := func(d datagram, change func(*datagram)) datagram { change(&d); return d }
	for name, d := range map[string]datagram{
		"giaddr":                          discover(dhcpv4.WithRelay(net.IP{172, 18, 0, 9})),
		"our own giaddr":                  discover(dhcpv4.WithRelay(settings4.Underlay.AsSlice())),
		"option 82":                       discover(dhcpv4.WithOption(dhcpv4.OptRelayAgentInfo(dhcpv4.OptGeneric(dhcpv4.AgentCircuitIDSubOption, []byte("relay-blue"))))),
		"empty option 82":                 discover(dhcpv4.WithGeneric(dhcpv4.OptionRelayAgentInformation, nil)),
		"overload":                        discover(dhcpv4.WithGeneric(dhcpv4.OptionOptionOverload, []byte{3})),
		"answer":                          discover(func(m *dhcpv4.DHCPv4) { m.OpCode = dhcpv4.OpcodeBootReply }),
		"offer":                           broadcast(ask(dhcpv4.MessageTypeOffer)),
		"lease query":                     broadcast(ask(dhcpv4.MessageType(10))),
		"BOOTP":                           discover(func(m *dhcpv4.DHCPv4) { m.DeleteOption(dhcpv4.OptionDHCPMessageType) }),
		"another's chaddr":                discover(dhcpv4.WithHwAddr(otherMAC[:])),
		"long chaddr":                     discover(dhcpv4.WithHwAddr(append(hostMAC[:], 1, 2))),
		"no Ethernet":                     discover(func(m *dhcpv4.DHCPv4) { m.HWType = 6 }),
		"a long identifier":               discover(dhcpv4.WithGeneric(dhcpv4.OptionClientIdentifier, make([]byte, 256))),
		"many hops":                       discover(func(m *dhcpv4.DHCPv4) { m.HopCount = maxHops }),
		"oversize":                        discover(dhcpv4.WithGeneric(dhcpv4.OptionVendorSpecificInformation, make([]byte, maxMessage))),
		"routed discover":                 renewal(ask(dhcpv4.MessageTypeDiscover), gatewayMAC),
		"routed discover with an address": renewal(ask(dhcpv4.MessageTypeDiscover, ciaddr), gatewayMAC),
		"routed decline":                  renewal(ask(dhcpv4.MessageTypeDecline, ciaddr), gatewayMAC),
		"routed for others":               renewal(ask(dhcpv4.MessageTypeRequest, dhcpv4.WithClientIP(net.IP{10, 10, 10, 3})), gatewayMAC),
		"broadcast by a router": with(broadcast(ask(dhcpv4.MessageTypeRequest, ciaddr)), func(d *datagram) {
			d.fromMAC, d.from = gatewayMAC, netip.AddrPortFrom(hostIP, 68)
		}),
		"another port":     with(discover(), func(d *datagram) { d.to = netip.AddrPortFrom(broadcast4, 68) }),
		"the DPU itself":   with(renewal(ask(dhcpv4.MessageTypeRequest, ciaddr), hostMAC), func(d *datagram) { d.to = netip.MustParseAddrPort("172.18.0.5:67") }),
		"another MAC":      with(renewal(ask(dhcpv4.MessageTypeRequest, ciaddr), hostMAC), func(d *datagram) { d.toMAC = otherMAC }),
		"no message":       with(discover(), func(d *datagram) { d.payload = d.payload[:100] }),
		"no end":           with(discover(), func(d *datagram) { d.payload = d.payload[:241] }),
		"no cookie":        with(discover(), func(d *datagram) { d.payload[236] = 0 }),
		"DHCPv6":           with(solicitation(), func(*datagram) {}),
		"nothing whatever": {from: netip.MustParseAddrPort("0.0.0.0:68"), to: netip.AddrPortFrom(broadcast4, 67), toMAC: broadcastMAC},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := pass(d)
			NewWithT(t).Expect(err).To(HaveOccurred(), "%v", m)
		})
	}
}

// exchange passes a request on, and what a server answers to it.
func exchange(g Gomega, r *v4, request *dhcpv4.DHCPv4, kind dhcpv4.MessageType, change ...dhcpv4.Modifier) (frame []byte, err error) {
	passed, err := r.request(broadcast(request).frame(), noon)
	g.Expect(err).NotTo(HaveOccurred())
	return r.answer(server4(g, passed, kind, change...), r.Server)
}

// server4 is what a server answers to what the relay has passed on. It keeps to contract4, as a real one does.
func server4(g Gomega, passed []byte, kind dhcpv4.MessageType, change ...dhcpv4.Modifier) []byte {
	asked, err := dhcpv4.FromBytes(passed)
	g.Expect(err).NotTo(HaveOccurred())
	answer, err := dhcpv4.NewReplyFromRequest(asked, append([]dhcpv4.Modifier{
		dhcpv4.WithMessageType(kind), dhcpv4.WithServerIP(nil), dhcpv4.WithYourIP(hostIP.AsSlice()),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(identifier.AsSlice())),
		dhcpv4.WithGeneric(dhcpv4.OptionRelayAgentInformation, asked.Options.Get(dhcpv4.OptionRelayAgentInformation)),
	}, change...)...)
	g.Expect(err).NotTo(HaveOccurred())
	return answer.ToBytes()
}

func TestAnswer4(t *testing.T) {
	t.Parallel()
	discover, none := ask(dhcpv4.MessageTypeDiscover), func(*dhcpv4.DHCPv4) {}
	for name, test := range map[string]struct {
		request *dhcpv4.DHCPv4
		kind    dhcpv4.MessageType
		change  dhcpv4.Modifier
		to      string
		toMAC   MAC
		mtu     []byte
	}{
		"offer":      {discover, dhcpv4.MessageTypeOffer, none, "10.10.10.2:68", hostMAC, []byte{5, 0xa2}},
		"smaller":    {discover, dhcpv4.MessageTypeOffer, mtu(1400), "10.10.10.2:68", hostMAC, []byte{5, 0x78}},
		"larger":     {discover, dhcpv4.MessageTypeOffer, mtu(1500), "10.10.10.2:68", hostMAC, []byte{5, 0xa2}},
		"no MTU":     {discover, dhcpv4.MessageTypeOffer, dhcpv4.WithGeneric(dhcpv4.OptionInterfaceMTU, []byte{1}), "10.10.10.2:68", hostMAC, []byte{5, 0xa2}},
		"broadcast":  {ask(dhcpv4.MessageTypeDiscover, dhcpv4.WithBroadcast(true)), dhcpv4.MessageTypeOffer, none, "255.255.255.255:68", broadcastMAC, []byte{5, 0xa2}},
		"renewal":    {ask(dhcpv4.MessageTypeRequest, ciaddr), dhcpv4.MessageTypeAck, ciaddr, "10.10.10.2:68", hostMAC, []byte{5, 0xa2}},
		"inform":     {ask(dhcpv4.MessageTypeInform, ciaddr), dhcpv4.MessageTypeAck, func(m *dhcpv4.DHCPv4) { m.YourIPAddr, m.ClientIPAddr = nil, hostIP.AsSlice() }, "10.10.10.2:68", hostMAC, []byte{5, 0xa2}},
		"no address": {discover, dhcpv4.MessageTypeAck, dhcpv4.WithYourIP(nil), "255.255.255.255:68", broadcastMAC, []byte{5, 0xa2}},
		"refusal":    {ask(dhcpv4.MessageTypeRequest, ciaddr), dhcpv4.MessageTypeNak, ciaddr, "255.255.255.255:68", broadcastMAC, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			frame, err := exchange(g, &v4{settings4, newHosts(nil)}, test.request, test.kind, test.change)
			g.Expect(err).NotTo(HaveOccurred())
			d, err := parse(frame)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(d.to).To(Equal(netip.MustParseAddrPort(test.to)))
			g.Expect(d.toMAC).To(Equal(test.toMAC))
			g.Expect(d.from).To(Equal(netip.MustParseAddrPort("169.254.128.5:67")))
			g.Expect(d.fromMAC).To(Equal(settings4.MAC))
			m, err := dhcpv4.FromBytes(d.payload)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(m.Options.Has(dhcpv4.OptionRelayAgentInformation)).To(BeFalse())
			g.Expect(m.ServerIdentifier().String()).To(Equal("169.254.128.5"))
			g.Expect(m.GatewayIPAddr.IsUnspecified()).To(BeTrue())
			g.Expect(m.Options.Get(dhcpv4.OptionInterfaceMTU)).To(Equal(test.mtu))
		})
	}
}

func mtu(bytes uint16) dhcpv4.Modifier {
	return dhcpv4.WithOption(dhcpv4.Option{Code: dhcpv4.OptionInterfaceMTU, Value: dhcpv4.Uint16(bytes)})
}

func TestAnswer4_refused(t *testing.T) {
	t.Parallel()
	circuit := func(id string) dhcpv4.Modifier {
		return dhcpv4.WithOption(dhcpv4.OptRelayAgentInfo(dhcpv4.OptGeneric(dhcpv4.AgentCircuitIDSubOption, []byte(id))))
	}
	for name, change := range map[string]dhcpv4.Modifier{
		"another network":      circuit("relay-blue"),
		"a longer name":        circuit("relay-red2"),
		"no option 82":         func(m *dhcpv4.DHCPv4) { m.DeleteOption(dhcpv4.OptionRelayAgentInformation) },
		"broken option 82":     dhcpv4.WithGeneric(dhcpv4.OptionRelayAgentInformation, []byte{1, 200, 'r'}),
		"another relay":        dhcpv4.WithRelay(net.IP{172, 18, 0, 6}),
		"no relay":             dhcpv4.WithRelay(nil),
		"another transaction":  func(m *dhcpv4.DHCPv4) { m.TransactionID[0]++ },
		"another host":         dhcpv4.WithHwAddr(otherMAC[:]),
		"no Ethernet address":  dhcpv4.WithHwAddr(hostMAC[:5]),
		"a request":            func(m *dhcpv4.DHCPv4) { m.OpCode = dhcpv4.OpcodeBootRequest },
		"a discover":           dhcpv4.WithMessageType(dhcpv4.MessageTypeDiscover),
		"no identifier":        func(m *dhcpv4.DHCPv4) { m.DeleteOption(dhcpv4.OptionServerIdentifier) },
		"too large":            dhcpv4.WithGeneric(dhcpv4.OptionVendorSpecificInformation, make([]byte, settings4.Largest-240)),
		"a mistaken overload":  dhcpv4.WithGeneric(dhcpv4.OptionOptionOverload, []byte{4}),
		"an overload of bytes": dhcpv4.WithGeneric(dhcpv4.OptionOptionOverload, []byte{1, 1}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			_, err := exchange(g, &v4{settings4, newHosts(nil)}, ask(dhcpv4.MessageTypeDiscover), dhcpv4.MessageTypeOffer, change)
			g.Expect(err).To(HaveOccurred())
		})
	}
	_, err := (&v4{settings4, newHosts(nil)}).answer(ask(dhcpv4.MessageTypeOffer).ToBytes(), netip.MustParseAddr("172.18.0.66"))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("172.18.0.66 isn't the server")))
}

// TestIdentifier_isTheServersOnTheWayBack: a host knows the relay as its server.
func TestIdentifier_isTheServersOnTheWayBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &v4{settings4, newHosts(nil)}
	selected := func(id netip.Addr) string {
		out, err := r.request(broadcast(ask(dhcpv4.MessageTypeRequest, dhcpv4.WithOption(dhcpv4.OptServerIdentifier(id.AsSlice())))).frame(), noon)
		g.Expect(err).NotTo(HaveOccurred())
		m, err := dhcpv4.FromBytes(out)
		g.Expect(err).NotTo(HaveOccurred())
		return m.ServerIdentifier().String()
	}
	g.Expect(selected(r.Address)).To(Equal("172.18.0.3"), "a relay that has been restarted takes the server's address")
	_, err := exchange(g, r, ask(dhcpv4.MessageTypeDiscover), dhcpv4.MessageTypeOffer)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(selected(r.Address)).To(Equal("172.18.0.30"), "as it calls itself")
	elsewhere := netip.MustParseAddr("10.9.9.9")
	g.Expect(selected(elsewhere)).To(Equal("10.9.9.9"), "the host has chosen another one")
}

// TestAnswer4_unfolds: a server that lacks room continues in the fields for names.
func TestAnswer4_unfolds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &v4{settings4, newHosts(nil)}
	frame, err := exchange(g, r, ask(dhcpv4.MessageTypeDiscover), dhcpv4.MessageTypeOffer, func(m *dhcpv4.DHCPv4) {
		m.UpdateOption(dhcpv4.OptGeneric(dhcpv4.OptionOptionOverload, []byte{3}))
		m.BootFileName = string([]byte{3, 4, 10, 10, 10, 1, 255})
		m.ServerHostName = string([]byte{15, 3, 'l', 'a', 'b', 82, 2, 1, 0}[:5]) + "\xff"
	})
	g.Expect(err).NotTo(HaveOccurred())
	d, err := parse(frame)
	g.Expect(err).NotTo(HaveOccurred())
	m, err := dhcpv4.FromBytes(d.payload)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.Router()).To(HaveLen(1))
	g.Expect(m.DomainName()).To(Equal("lab"))
	g.Expect(m.BootFileName + m.ServerHostName).To(BeEmpty())
	g.Expect(m.Options.Has(dhcpv4.OptionOptionOverload)).To(BeFalse())
}

func TestRequest4_storm(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &v4{settings4, newHosts(nil)}
	frame, passed := broadcast(ask(dhcpv4.MessageTypeDiscover)).frame(), 0
	for i := range 10000 { // in a second
		if _, err := r.request(frame, noon.Add(time.Duration(i)*time.Second/10000)); err == nil {
			passed++
		}
	}
	g.Expect(passed).To(BeNumerically("~", hostBurst+int(perHost), 1))
}

// What the interface can't take isn't sent, and no reason to offer hosts less than their network takes.
func TestAnswer4_fitsThroughTheInterface(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &v4{settings4, newHosts(nil)}
	size := func(options int) (dhcp int, err error) {
		frame, err := exchange(g, r, ask(dhcpv4.MessageTypeDiscover), dhcpv4.MessageTypeOffer,
			dhcpv4.WithGeneric(dhcpv4.OptionVendorSpecificInformation, make([]byte, options)))
		return len(frame) - ethernetHeader, err
	}
	fixed, err := size(1100)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(size(1100 + settings4.Largest - fixed)).To(Equal(settings4.Largest))
	_, err = size(1101 + settings4.Largest - fixed)
	g.Expect(err).To(MatchError(ContainSubstring("don't fit through the network")))
}

// A client behind a router may claim any identity. It counts as one host nevertheless.
func TestRequest4_madeUpBehindARouter(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &v4{settings4, newHosts(nil)}
	waiting := ask(dhcpv4.MessageTypeDiscover, dhcpv4.WithHwAddr(otherMAC[:]))
	_, err := r.request(func() []byte { d := broadcast(waiting); d.fromMAC = otherMAC; return d.frame() }(), noon)
	g.Expect(err).NotTo(HaveOccurred())
	passed := 0
	for i := range 1000 {
		chaddr := MAC{2, 0xbb, 0, 0, byte(i >> 8), byte(i)}
		if i%2 == 0 {
			chaddr = otherMAC
		}
		if _, err := r.request(renewal(ask(dhcpv4.MessageTypeRequest, ciaddr, dhcpv4.WithHwAddr(chaddr[:])), gatewayMAC).frame(), noon); err == nil {
			passed++
		}
	}
	g.Expect(passed).To(Equal(hostBurst))
	g.Expect(r.hosts.all).To(HaveLen(2))
	_, err = r.hosts.answered(otherMAC, waiting.TransactionID, identifier)
	g.Expect(err).NotTo(HaveOccurred(), "it still waits")
}

// A release names the server, which a host knows from when it was given its address.
func TestIdentifier_isTheServersBehindARouter(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &v4{settings4, newHosts(nil)}
	_, err := exchange(g, r, ask(dhcpv4.MessageTypeDiscover), dhcpv4.MessageTypeOffer)
	g.Expect(err).NotTo(HaveOccurred())
	release := ask(dhcpv4.MessageTypeRelease, ciaddr, dhcpv4.WithOption(dhcpv4.OptServerIdentifier(settings4.Address.AsSlice())))
	out, err := r.request(renewal(release, gatewayMAC).frame(), noon)
	g.Expect(err).NotTo(HaveOccurred())
	m, err := dhcpv4.FromBytes(out)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.ServerIdentifier().String()).To(Equal("172.18.0.30"))
}

// If the controller has set the hosts behind the DPU, requests of other senders are dropped, and no host can release what another
// one has.
func TestRequest4_ofKnownHosts(t *testing.T) {
	t.Parallel()
	stranger := MAC{2, 0, 10, 10, 10, 9}
	from := func(mac MAC, m *dhcpv4.DHCPv4) datagram { d := broadcast(m); d.fromMAC = mac; return d }
	requested := func(ip string) dhcpv4.Modifier {
		return dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.ParseIP(ip)))
	}
	others := dhcpv4.WithClientIP(net.IP{10, 10, 10, 3})
	for name, test := range map[string]struct {
		d      datagram
		passed bool
	}{
		"discover":               {broadcast(ask(dhcpv4.MessageTypeDiscover)), true},
		"for any address":        {broadcast(ask(dhcpv4.MessageTypeRequest, requested("10.10.10.77"))), true},
		"renewal by the router":  {renewal(ask(dhcpv4.MessageTypeRequest, ciaddr), gatewayMAC), true},
		"release":                {renewal(ask(dhcpv4.MessageTypeRelease, ciaddr), gatewayMAC), true},
		"release on the link":    {renewal(ask(dhcpv4.MessageTypeRelease, ciaddr), hostMAC), true},
		"inform":                 {broadcast(ask(dhcpv4.MessageTypeInform, ciaddr)), true},
		"answer for another":     {broadcast(ask(dhcpv4.MessageTypeInform, others)), false},
		"decline":                {broadcast(ask(dhcpv4.MessageTypeDecline, requested("10.10.10.2"))), true},
		"a stranger":             {from(stranger, ask(dhcpv4.MessageTypeDiscover, dhcpv4.WithHwAddr(stranger[:]))), false},
		"a stranger's MAC":       {renewal(ask(dhcpv4.MessageTypeRequest, ciaddr, dhcpv4.WithHwAddr(stranger[:])), gatewayMAC), false},
		"a neighbour's MAC":      {renewal(ask(dhcpv4.MessageTypeRequest, ciaddr, dhcpv4.WithHwAddr(otherMAC[:])), gatewayMAC), false},
		"inform for a neighbour": {renewal(ask(dhcpv4.MessageTypeInform, ciaddr, dhcpv4.WithHwAddr(otherMAC[:])), gatewayMAC), false},
		"another's release":      {renewal(ask(dhcpv4.MessageTypeRelease, others), hostMAC), false},
		"release of nothing":     {renewal(ask(dhcpv4.MessageTypeRelease), hostMAC), false},
		"another's decline":      {broadcast(ask(dhcpv4.MessageTypeDecline, requested("10.10.10.3"))), false},
		"decline of a pool":      {broadcast(ask(dhcpv4.MessageTypeDecline, requested("10.10.10.77"))), false},
		"decline of nothing":     {broadcast(ask(dhcpv4.MessageTypeDecline)), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := &v4{settings4, newHosts(present)}
			_, err := r.request(test.d.frame(), noon)
			if test.passed {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(HaveOccurred())
				g.Expect(r.hosts.all).To(BeEmpty(), "nothing is remembered of it")
			}
		})
	}
}
