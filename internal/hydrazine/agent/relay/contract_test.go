package relay

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"
	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// The tests of this package answer as a DHCP server does. The same tables of requests and answers hold for the real one that the
// lab has.

func TestContract_ofTheFakeServer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	contract4(t, func(passed []byte, kind dhcpv4.MessageType) []byte {
		if kind == dhcpv4.MessageTypeNak {
			return server4(g, passed, kind, dhcpv4.WithYourIP(nil))
		}
		return server4(g, passed, kind)
	})
	contract6(t, func(passed []byte, kind dhcpv6.MessageType) []byte { return server6(passed, kind).ToBytes() })
}

func TestContract_ofTheRealServer(t *testing.T) {
	t.Parallel()
	fabrictest.Require(t)
	toolstest.Programs(t, "dhcpd")
	f := fabrictest.Up(t, fabric.Topology{Subnets: []fabric.Subnet{{
		Name: "rack", Gateways: []netip.Prefix{netip.MustParsePrefix("172.18.0.1/24"), netip.MustParsePrefix("fd00::1/64")},
		Servers: []fabric.Server{
			{Name: "server", Addresses: []netip.Addr{settings4.Server, settings6.Server}},
			{Name: "dpu", Addresses: []netip.Addr{settings4.Underlay, settings6.Underlay}},
		},
	}}})
	four := realServer(t, f, "-4", settings4, 67, `
authoritative;
ping-check false;
class "red" { match if option agent.circuit-id = "relay-red"; }
subnet 172.18.0.0 netmask 255.255.255.0 { }
subnet 10.10.10.0 netmask 255.255.255.0 {
  option routers 10.10.10.1;
  pool { allow members of "red"; range 10.10.10.2; }
}
`)
	contract4(t, func(passed []byte, _ dhcpv4.MessageType) []byte { return four(passed) })
	six := realServer(t, f, "-6", settings6, 547, `
class "red" { match if v6relay(1, option dhcp6.interface-id) = "relay-red"; }
subnet6 fd00::/64 { }
subnet6 fd10::/64 { pool6 { allow members of "red"; range6 fd10::2 fd10::2; } }
`)
	contract6(t, func(passed []byte, _ dhcpv6.MessageType) []byte { return six(passed) })
}

// realServer starts ISC's, and returns what asks it as the DPU does, and waits for its answer.
func realServer(t *testing.T, f *fabric.Fabric, version string, s Settings, port uint16, config string) (ask func([]byte) []byte) {
	t.Helper()
	g, dir := NewWithT(t), f.RunDir("server"+version)
	g.Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, "conf"), []byte(config), 0o600)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, "leases"), nil, 0o600)).To(Succeed())
	log := filepath.Join(dir, "log")
	_, err := f.Start("server", process.Command{
		Name: "dhcpd" + version, Path: "dhcpd", Log: log,
		Args: []string{version, "-f", "-d", "-cf", filepath.Join(dir, "conf"), "-lf", filepath.Join(dir, "leases"), "-pf", filepath.Join(dir, "pid"), "eth0"},
	})
	g.Expect(err).NotTo(HaveOccurred())
	said := func() string {
		text, _ := os.ReadFile(log)
		return string(text)
	}
	g.Eventually(said, "1m").Should(ContainSubstring("Server starting service"))
	var own *net.UDPConn
	g.Expect(f.Do("dpu", func() (err error) {
		own, err = net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.Underlay, port)),
			net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.Server, port)))
		return err
	})).To(Succeed())
	t.Cleanup(func() { _ = own.Close() })
	return func(message []byte) []byte {
		answer := make([]byte, readSize)
		for try := range 20 { // the first packets may be lost during neighbour discovery
			_, err := own.Write(message)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(own.SetReadDeadline(time.Now().Add(time.Second))).To(Succeed())
			if n, err := own.Read(answer); err == nil {
				return answer[:n]
			} else if try == 19 {
				g.Expect(err).NotTo(HaveOccurred(), said())
			}
		}
		return nil
	}
}

// contract4 is what the relay counts on of a server of DHCPv4. ISC's answers an inform to ciaddr, past the relay (RFC 2131, section
// 4.3.5), so the relay can't count on that answer.
func contract4(t *testing.T, answer func(passed []byte, kind dhcpv4.MessageType) []byte) {
	t.Helper()
	r := &v4{settings4, newHosts(present)}
	requested := dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(hostIP.AsSlice()))
	named := dhcpv4.WithGeneric(dhcpv4.OptionClientIdentifier, []byte{255, 1, 2, 3, 4, 0, 2, 0, 0, 0xab, 0x11, 9})
	for _, term := range []struct {
		name    string
		request *dhcpv4.DHCPv4
		kind    dhcpv4.MessageType
		given   net.IP
	}{
		{"discover", ask(dhcpv4.MessageTypeDiscover), dhcpv4.MessageTypeOffer, hostIP.AsSlice()},
		{"discover by a DUID", ask(dhcpv4.MessageTypeDiscover, named), dhcpv4.MessageTypeOffer, hostIP.AsSlice()},
		{"request", ask(dhcpv4.MessageTypeRequest, requested, named), dhcpv4.MessageTypeAck, hostIP.AsSlice()},
		{"request without an identifier", ask(dhcpv4.MessageTypeRequest, requested), dhcpv4.MessageTypeAck, hostIP.AsSlice()},
		{"renewal", ask(dhcpv4.MessageTypeRequest, ciaddr), dhcpv4.MessageTypeAck, hostIP.AsSlice()},
		{"another network's address", ask(dhcpv4.MessageTypeRequest,
			dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.IP{10, 9, 9, 9}))), dhcpv4.MessageTypeNak, nil},
	} {
		g := NewWithT(t)
		passed, err := r.request(broadcast(term.request).frame(), noon)
		g.Expect(err).NotTo(HaveOccurred(), term.name)
		asked, err := dhcpv4.FromBytes(passed)
		g.Expect(err).NotTo(HaveOccurred(), term.name)
		said := answer(passed, term.kind)
		m, err := dhcpv4.FromBytes(said)
		g.Expect(err).NotTo(HaveOccurred(), term.name)
		g.Expect(m.OpCode).To(Equal(dhcpv4.OpcodeBootReply), term.name)
		g.Expect(m.MessageType()).To(Equal(term.kind), "%s: %s", term.name, m.Summary())
		g.Expect(m.TransactionID).To(Equal(asked.TransactionID), term.name)
		g.Expect(m.ClientHWAddr).To(Equal(asked.ClientHWAddr), term.name)
		g.Expect(m.GatewayIPAddr.Equal(settings4.Underlay.AsSlice())).To(BeTrue(), term.name)
		g.Expect(m.Options.Get(dhcpv4.OptionRelayAgentInformation)).To(Equal(asked.Options.Get(dhcpv4.OptionRelayAgentInformation)), term.name)
		g.Expect(m.ServerIdentifier()).NotTo(BeNil(), term.name)
		g.Expect(m.Options.Get(dhcpv4.OptionClientIdentifier)).To(Or(BeNil(), Equal(identifier4(hostMAC))), term.name)
		if term.given != nil {
			g.Expect(m.YourIPAddr.Equal(term.given)).To(BeTrue(), "%s: %s", term.name, m.Summary())
		} else {
			g.Expect(m.YourIPAddr.IsUnspecified()).To(BeTrue(), "%s: %s", term.name, m.Summary())
		}
		frame, err := r.answer(said, settings4.Server)
		g.Expect(err).NotTo(HaveOccurred(), term.name)
		d, err := parse(frame)
		g.Expect(err).NotTo(HaveOccurred(), term.name)
		heard, err := dhcpv4.FromBytes(d.payload)
		g.Expect(err).NotTo(HaveOccurred(), term.name)
		g.Expect(heard.Options.Get(dhcpv4.OptionClientIdentifier)).To(Equal(term.request.Options.Get(dhcpv4.OptionClientIdentifier)), term.name)
	}
}

// contract6 is what the relay counts on of a server of DHCPv6.
func contract6(t *testing.T, answer func(passed []byte, kind dhcpv6.MessageType) []byte) {
	t.Helper()
	r := &v6{settings6, newHosts(present)}
	var server dhcpv6.DUID // the first one that has answered
	to := func(m *dhcpv6.Message) { m.AddOption(dhcpv6.OptServerID(server)) }
	for _, term := range []struct {
		asks   dhcpv6.MessageType
		kind   dhcpv6.MessageType
		change []func(*dhcpv6.Message)
	}{
		{dhcpv6.MessageTypeSolicit, dhcpv6.MessageTypeAdvertise, []func(*dhcpv6.Message){lease(1)}},
		{dhcpv6.MessageTypeRequest, dhcpv6.MessageTypeReply, []func(*dhcpv6.Message){to, lease(1)}},
		{dhcpv6.MessageTypeRenew, dhcpv6.MessageTypeReply, []func(*dhcpv6.Message){to, lease(1, "fd10::2")}},
		{dhcpv6.MessageTypeRebind, dhcpv6.MessageTypeReply, []func(*dhcpv6.Message){lease(1, "fd10::2")}},
		{dhcpv6.MessageTypeInformationRequest, dhcpv6.MessageTypeReply, nil},
		{dhcpv6.MessageTypeRelease, dhcpv6.MessageTypeReply, []func(*dhcpv6.Message){to, lease(1, "fd10::2")}},
	} {
		g, name := NewWithT(t), fmt.Sprint(term.asks)
		passed, err := r.request(ask6(message6(term.asks, term.change...).ToBytes()).frame(), noon)
		g.Expect(err).NotTo(HaveOccurred(), name)
		said := answer(passed, term.kind)
		m, err := dhcpv6.RelayMessageFromBytes(said)
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(m.Type()).To(Equal(dhcpv6.MessageTypeRelayReply), name)
		g.Expect(m.HopCount).To(BeZero(), name)
		g.Expect(m.LinkAddr.Equal(settings6.LinkAddress.AsSlice())).To(BeTrue(), name)
		g.Expect(m.PeerAddr.Equal(hostLink.AsSlice())).To(BeTrue(), name)
		g.Expect(string(m.Options.InterfaceID())).To(Equal(settings6.Interface), name)
		inner := m.Options.RelayMessage().(*dhcpv6.Message)
		g.Expect(inner.Type()).To(Equal(term.kind), "%s: %s", name, inner.Summary())
		g.Expect(inner.TransactionID).To(Equal(transactionID), name)
		g.Expect(inner.Options.ClientID().ToBytes()).To(Equal(message6(term.asks).Options.ClientID().ToBytes()), name)
		server = inner.Options.ServerID()
		g.Expect(server).NotTo(BeNil(), name)
		_, err = r.answer(said, settings6.Server)
		g.Expect(err).NotTo(HaveOccurred(), name)
	}
}
