package relay

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
)

// FuzzRequest: whatever a host sends, what comes out says that it is from here, and from nowhere else.
func FuzzRequest(f *testing.F) {
	f.Add(broadcast(ask(dhcpv4.MessageTypeDiscover)).frame())
	f.Add(renewal(ask(dhcpv4.MessageTypeRequest, ciaddr), gatewayMAC).frame())
	f.Add(broadcast(ask(dhcpv4.MessageTypeDiscover, dhcpv4.WithRelay(settings4.Server.AsSlice()))).frame())
	f.Add(solicitation().frame())
	for _, id := range clientIdentifiers() {
		f.Add(broadcast(ask(dhcpv4.MessageTypeRequest, dhcpv4.WithGeneric(dhcpv4.OptionClientIdentifier, id))).frame())
	}
	f.Add(renewal(ask(dhcpv4.MessageTypeRelease, ciaddr), hostMAC).frame())
	f.Add(broadcast(ask(dhcpv4.MessageTypeDecline, dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(hostIP.AsSlice())))).frame())
	for _, kind := range []dhcpv6.MessageType{dhcpv6.MessageTypeRequest, dhcpv6.MessageTypeRelease, dhcpv6.MessageTypeDecline} {
		f.Add(ask6(message6(kind, lease(1, "fd10::2"), lease(2, "fd10::3")).ToBytes()).frame())
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		hosts4, hosts6 := newHosts(present), newHosts(present)
		if out, err := (&v4{settings4, hosts4}).request(frame, noon); err == nil {
			checkRequest4(t, out)
		}
		for _, frame := range [][]byte{frame, release6(frame)} { // it gives back what it has asked for
			if out, err := (&v6{settings6, hosts6}).request(frame, noon); err == nil {
				checkRequest6(t, out)
			}
		}
		for _, host := range hosts6.all {
			if len(host.identities) > newIdentities {
				t.Fatalf("%d identities at once", len(host.identities))
			}
		}
		if len(hosts4.all)+len(hosts6.all) > 1 {
			t.Fatal("one frame of one host's is of one version")
		}
	})
}

// release6 is what another message asks for, given back.
func release6(frame []byte) []byte {
	release := bytes.Clone(frame)
	if kind := ethernetHeader + ipv6Header + udpHeader; len(release) > kind {
		release[kind] = byte(dhcpv6.MessageTypeRelease)
	}
	return release
}

func checkRequest4(t *testing.T, out []byte) {
	m, err := dhcpv4.FromBytes(out)
	switch {
	case err != nil:
		t.Fatal(err)
	case len(out) > maxMessage+100:
		t.Fatalf("%d bytes", len(out))
	case !m.GatewayIPAddr.Equal(settings4.Underlay.AsSlice()) || m.OpCode != dhcpv4.OpcodeBootRequest || m.HopCount < 1 || m.HopCount > maxHops:
		t.Fatal(m)
	case m.Options.Has(dhcpv4.OptionOptionOverload) || m.Options.Has(dhcpv4.OptionSubnetSelection):
		t.Fatal(m)
	case !bytes.Equal(m.Options.Get(dhcpv4.OptionClientIdentifier), append([]byte{1}, m.ClientHWAddr...)):
		t.Fatal("it is another client: ", m)
	case !bytes.Equal(m.ClientHWAddr, hostMAC[:]) && !bytes.Equal(m.ClientHWAddr, otherMAC[:]):
		t.Fatal("no host behind the DPU: ", m)
	case m.MessageType() == dhcpv4.MessageTypeRelease && !ownedBy(m.ClientHWAddr, m.ClientIPAddr),
		m.MessageType() == dhcpv4.MessageTypeInform && !ownedBy(m.ClientHWAddr, m.ClientIPAddr),
		m.MessageType() == dhcpv4.MessageTypeDecline && !ownedBy(m.ClientHWAddr, m.RequestedIPAddress()):
		t.Fatal("it gives back another's: ", m)
	}
	own := dhcpv4.OptRelayAgentInfo(
		dhcpv4.OptGeneric(dhcpv4.AgentCircuitIDSubOption, []byte(settings4.Interface)),
		dhcpv4.OptGeneric(dhcpv4.LinkSelectionSubOption, settings4.LinkAddress.AsSlice()),
		dhcpv4.OptGeneric(dhcpv4.ServerIdentifierOverrideSubOption, settings4.Address.AsSlice()),
	).Value.ToBytes()
	if got := m.Options.Get(dhcpv4.OptionRelayAgentInformation); !bytes.Equal(got, own) {
		t.Fatalf("option 82 is %x", got)
	}
}

func checkRequest6(t *testing.T, out []byte) {
	m, err := dhcpv6.RelayMessageFromBytes(out)
	switch {
	case err != nil:
		t.Fatal(err)
	case m.HopCount != 0 || !m.LinkAddr.Equal(settings6.LinkAddress.AsSlice()) || string(m.Options.InterfaceID()) != settings6.Interface:
		t.Fatal(m)
	case m.Options.RelayMessage() == nil || m.Options.RelayMessage().IsRelay():
		t.Fatal(m)
	}
	kind, mac := m.Options.ClientLinkLayerAddress()
	if kind != iana.HWTypeEthernet || len(m.Options.Get(dhcpv6.OptionClientLinkLayerAddr)) != 1 ||
		!bytes.Equal(mac, hostMAC[:]) && !bytes.Equal(mac, otherMAC[:]) || !m.PeerAddr.Equal(linkLocal(MAC(mac)).AsSlice()) {
		t.Fatal("option 79 is ", mac, ", from ", m.PeerAddr)
	}
	inner := m.Options.RelayMessage().(*dhcpv6.Message)
	if inner.Type() != dhcpv6.MessageTypeRelease && inner.Type() != dhcpv6.MessageTypeDecline {
		return
	}
	for _, ia := range inner.Options.IANA() {
		for _, a := range ia.Options.Addresses() {
			if !ownedBy(mac, a.IPv6Addr) {
				t.Fatal("it gives back another's: ", a)
			}
		}
	}
}

// ownedBy reports whether an address is one of those that the controller has said.
func ownedBy(mac net.HardwareAddr, ip net.IP) bool {
	return slices.ContainsFunc(present()[MAC(mac)], func(a netip.Addr) bool { return ip.Equal(a.AsSlice()) })
}

// FuzzAnswer: whatever the server's address sends, only the requesting host gets it, from the relay, and without what is
// between relay and server.
func FuzzAnswer(f *testing.F) {
	request := ask(dhcpv4.MessageTypeDiscover)
	request.TransactionID = dhcpv4.TransactionID{0, 1, 2, 3}
	offer := *request
	offer.OpCode, offer.GatewayIPAddr = dhcpv4.OpcodeBootReply, settings4.Underlay.AsSlice()
	offer.UpdateOption(dhcpv4.OptServerIdentifier(identifier.AsSlice()))
	offer.UpdateOption(dhcpv4.OptMessageType(dhcpv4.MessageTypeOffer))
	offer.UpdateOption(dhcpv4.OptRelayAgentInfo(dhcpv4.OptGeneric(dhcpv4.AgentCircuitIDSubOption, []byte("relay-red"))))
	f.Add(offer.ToBytes())
	offer.UpdateOption(dhcpv4.OptGeneric(dhcpv4.OptionOptionOverload, []byte{3}))
	f.Add(offer.ToBytes())
	f.Add(reply(func(*dhcpv6.RelayMessage) {}))
	asked := broadcast(ask(dhcpv4.MessageTypeDiscover, func(m *dhcpv4.DHCPv4) { m.TransactionID = request.TransactionID })).frame()
	solicited := solicitation().frame()
	f.Fuzz(func(t *testing.T, message []byte) {
		r4, r6 := &v4{settings4, newHosts(nil)}, &v6{settings6, newHosts(nil)}
		_, err4 := r4.request(asked, noon)
		_, err6 := r6.request(solicited, noon)
		if err4 != nil || err6 != nil {
			t.Fatal(err4, err6)
		}
		if frame, err := r4.answer(message, r4.Server); err == nil {
			checkAnswer4(t, frame)
		}
		if frame, err := r6.answer(message, r6.Server); err == nil {
			d, err := parse(frame)
			if err != nil || d.toMAC != hostMAC || d.fromMAC != r6.MAC || d.to.Addr() != hostLink {
				t.Fatal(d, err)
			}
		}
		if len(r4.hosts.all) != 1 || len(r6.hosts.all) != 1 {
			t.Fatal("an answer is remembered")
		}
	})
}

func checkAnswer4(t *testing.T, frame []byte) {
	d, err := parse(frame)
	if err != nil || d.fromMAC != settings4.MAC || d.toMAC != hostMAC && d.toMAC != broadcastMAC || d.from.Addr() != settings4.Address ||
		len(d.payload) > settings4.Largest-ipv4Header-udpHeader {
		t.Fatal(d, err)
	}
	m, err := dhcpv4.FromBytes(d.payload)
	if err != nil || m.Options.Has(dhcpv4.OptionRelayAgentInformation) || m.Options.Has(dhcpv4.OptionOptionOverload) ||
		!m.GatewayIPAddr.IsUnspecified() || !m.ServerIdentifier().Equal(settings4.Address.AsSlice()) {
		t.Fatal(m, err)
	}
}
