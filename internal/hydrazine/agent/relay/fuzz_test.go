package relay

import (
	"bytes"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"
)

// FuzzRequest: whatever a host sends, what comes out says that it is from here, and from nowhere else.
func FuzzRequest(f *testing.F) {
	f.Add(broadcast(ask(dhcpv4.MessageTypeDiscover)).frame())
	f.Add(renewal(ask(dhcpv4.MessageTypeRequest, ciaddr), gatewayMAC).frame())
	f.Add(broadcast(ask(dhcpv4.MessageTypeDiscover, dhcpv4.WithRelay(settings4.Server.AsSlice()))).frame())
	f.Add(solicitation().frame())
	f.Fuzz(func(t *testing.T, frame []byte) {
		hosts4, hosts6 := newHosts(), newHosts()
		if out, err := (&v4{settings4, hosts4}).request(frame, noon); err == nil {
			checkRequest4(t, out)
		}
		if out, err := (&v6{settings6, hosts6}).request(frame, noon); err == nil {
			checkRequest6(t, out)
		}
		if len(hosts4.all)+len(hosts6.all) > 1 {
			t.Fatal("one frame of one host's is of one version")
		}
	})
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
}

// FuzzAnswer: whatever the server's address sends, only who has asked gets it, from the relay, and without what is between
// relay and server.
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
		r4, r6 := &v4{settings4, newHosts()}, &v6{settings6, newHosts()}
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
