package ovn_test

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// What ovn-northd makes of relays and of the guard on the fabric.
func TestTopology_keepsDPUsApart(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	c.startNorthd()
	n := c.northbound()
	dual := blue
	dual.Networks = append(dual.Networks, topology.Network{Prefix: netip.MustParsePrefix("fd10::/64"), Gateway: netip.MustParseAddr("fd10::1")})
	dual.Relayed = netip.MustParseAddr("172.19.0.9")
	two, three := member(2), member(3)
	two.Access, two.Addresses[0].PublicIP = resourcev1.PublicAccess, netip.MustParseAddr("203.0.113.2")
	two.Addresses = append(two.Addresses, topology.Address{
		HostIP: netip.MustParseAddr("fd10::2"), FabricIP: netip.MustParseAddr("fd18::2"), FabricBits: 64, NextHop: netip.MustParseAddr("fd18::1"),
	})
	two.DPUAddresses = []netip.Addr{netip.MustParseAddr("10.200.0.2"), netip.MustParseAddr("172.18.9.9"), netip.MustParseAddr("fd20::5")}
	network, err := topology.New(dual, []topology.Member{two, three}, topology.Site{
		Underlay: []netip.Addr{netip.MustParseAddr("172.18.0.5"), netip.MustParseAddr("172.20.0.7"), netip.MustParseAddr("fd18::5")},
		DPUs:     []netip.Prefix{netip.MustParsePrefix("172.20.0.0/24")}, Shared: []netip.Prefix{netip.MustParsePrefix("172.20.0.0/16")},
		ControlPlane: []netip.Addr{netip.MustParseAddr("172.20.5.5"), netip.MustParseAddr("172.21.0.2"), netip.MustParseAddr("fd21::2")},
		Routers:      []netip.Addr{netip.MustParseAddr("172.18.0.1"), netip.MustParseAddr("172.20.5.1"), netip.MustParseAddr("fd18::1")},
	})
	g.Expect(err).NotTo(HaveOccurred())
	apply(t, n, network)
	g.Expect(n.Sync(soon(t))).To(Succeed())
	own, _ := network.Relay("dpu-2")
	other, _ := network.Relay("dpu-3")
	gateway := c.nbctl("--bare", "--columns=mac", "list", "logical_router_port", "lr-blue_ls-blue")
	host2 := fmt.Sprintf("inport==%q && eth.src==%s && ip.ttl==64 && ", topology.PortName(two.UID, two.Name), two.HostMAC)
	relay2 := fmt.Sprintf("inport==%q && eth.src==%s && ip.ttl==64 && ", own.LogicalPort, own.MAC)
	inside := `inport=="ps-host-2_gr-host-2" && eth.src==` + c.nbctl("--bare", "--columns=mac", "list", "logical_router_port", "gr-host-2_ps-host-2") +
		" && eth.dst==02:00:00:00:00:99 && ip.ttl==64 && "
	from3 := `inport=="ps-host-3_gr-host-3" && eth.src==` + c.nbctl("--bare", "--columns=mac", "list", "logical_router_port", "gr-host-3_ps-host-3") +
		" && eth.dst==02:00:00:00:00:99 && ip.ttl==64 && "
	to := func(mac, rest string) string { return "eth.dst==" + mac + " && " + rest }
	const from2, everybody, nowhere = "ip4.src==10.10.10.2 && ", "ff:ff:ff:ff:ff:ff", ""

	for name, p := range map[string]struct{ on, packet, reaches string }{
		"a DPU":                        {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==172.18.0.5 && udp.dst==6081", nowhere},
		"a DPU, IPv6":                  {"ps-host-2", inside + "ip6.src==fd18::2 && ip6.dst==fd18::5 && udp.dst==6081", nowhere},
		"where there are DPUs only":    {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==172.20.0.9 && tcp.dst==22", nowhere},
		"beside these":                 {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==172.20.1.9 && tcp.dst==22", "ps-host-2_fabric"},
		"a southbound database":        {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==172.21.0.2 && tcp.dst==16640", nowhere},
		"the webhooks, IPv6":           {"ps-host-2", inside + "ip6.src==fd18::2 && ip6.dst==fd21::2 && tcp.dst==9443", nowhere},
		"beside the control plane":     {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==172.21.0.3 && tcp.dst==16640", "ps-host-2_fabric"},
		"a service beside the manager": {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==172.20.5.5 && tcp.dst==443", "ps-host-2_fabric"},
		"a router's BGP":               {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==172.18.0.1 && tcp.dst==179", nowhere},
		"a router's BGP, IPv6":         {"ps-host-2", inside + "ip6.src==fd18::2 && ip6.dst==fd18::1 && tcp.dst==179", nowhere},
		"a router's DNS":               {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==172.18.0.1 && udp.dst==53", "ps-host-2_fabric"},
		"a shared router's BGP":        {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==172.20.5.1 && tcp.dst==179", "ps-host-2_fabric"},
		"another one's BGP":            {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==198.51.100.1 && tcp.dst==179", "ps-host-2_fabric"},
		"its DPU's loopback":           {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==10.200.0.2 && tcp.dst==9660", nowhere},
		"its DPU's VLAN":               {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==172.18.9.9 && tcp.dst==22", nowhere},
		"its DPU's management, IPv6":   {"ps-host-2", inside + "ip6.src==fd18::2 && ip6.dst==fd20::5 && tcp.dst==22", nowhere},
		"beside its DPU's loopback":    {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==10.200.0.3 && tcp.dst==9660", "ps-host-2_fabric"},
		"another's unproven address":   {"ps-host-3", from3 + "ip4.src==172.18.1.3 && ip4.dst==10.200.0.2 && tcp.dst==9660", "ps-host-3_fabric"},
		"beside a DPU":                 {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==172.18.0.6 && udp.dst==6081", "ps-host-2_fabric"},
		"beside a DPU, IPv6":           {"ps-host-2", inside + "ip6.src==fd18::2 && ip6.dst==fd18::6 && udp.dst==6081", "ps-host-2_fabric"},
		"itself by the router":         {"ls-blue", host2 + to(gateway, from2+"ip4.dst==10.10.10.2 && udp.dst==9"), topology.PortName(two.UID, two.Name)},
		"another by the router":        {"ls-blue", host2 + to(gateway, from2+"ip4.dst==10.10.10.3 && udp.dst==9"), topology.PortName(three.UID, three.Name)},
		"a link-local address":         {"ls-blue", host2 + to(gateway, "ip6.src==fd10::2 && ip6.dst==fe80::5 && udp.dst==6081"), nowhere},
		"under the fabric address":     {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==198.51.100.1 && tcp.dst==80", "ps-host-2_fabric"},
		"under the public address":     {"ps-host-2", inside + "ip4.src==203.0.113.2 && ip4.dst==198.51.100.1 && tcp.dst==80", "ps-host-2_fabric"},
		"not translated":               {"ps-host-2", inside + "ip4.src==10.10.10.2 && ip4.dst==198.51.100.1 && tcp.dst==80", nowhere},
		"not translated, IPv6":         {"ps-host-2", inside + "ip6.src==fd10::2 && ip6.dst==2001:db8::1 && tcp.dst==80", nowhere},
		"OSPF":                         {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==224.0.0.5 && ip.proto==89", nowhere},
		"VRRP":                         {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==224.0.0.18 && ip.proto==112", nowhere},
		"a group of the site's":        {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==239.1.2.3 && udp.dst==9", nowhere},
		"DHCP to the fabric":           {"ps-host-2", inside + "ip4.src==172.18.1.2 && ip4.dst==255.255.255.255 && udp.src==68 && udp.dst==67", nowhere},
		"mDNS, IPv6":                   {"ps-host-2", inside + "ip6.src==fd18::2 && ip6.dst==ff02::fb && udp.dst==5353", nowhere},
		"a group of the site's, IPv6":  {"ps-host-2", inside + "ip6.src==fd18::2 && ip6.dst==ff05::2 && udp.dst==9", nowhere},
		"a request":                    {"ls-blue", host2 + to(everybody, "ip4.src==0.0.0.0 && ip4.dst==255.255.255.255 && udp.src==68 && udp.dst==67"), own.LogicalPort},
		"a renewal":                    {"ls-blue", host2 + to(own.MAC, from2+"ip4.dst=="+own.Address.String()+" && udp.src==68 && udp.dst==67"), own.LogicalPort},
		"a renewal by the router":      {"ls-blue", host2 + to(gateway, from2+"ip4.dst=="+own.Address.String()+" && udp.src==68 && udp.dst==67"), own.LogicalPort},
		"another's relay":              {"ls-blue", host2 + to(other.MAC, from2+"ip4.dst=="+other.Address.String()+" && udp.src==68 && udp.dst==67"), nowhere},
		"another's relay by the way":   {"ls-blue", host2 + to(gateway, from2+"ip4.dst=="+other.Address.String()+" && udp.src==68 && udp.dst==67"), nowhere},
		"the relay's other ports":      {"ls-blue", host2 + to(own.MAC, from2+"ip4.dst=="+own.Address.String()+" && tcp.dst==22"), nowhere},
		"the DPU behind its relay":     {"ls-blue", host2 + to(own.MAC, from2+"ip4.dst==172.18.0.5 && udp.src==68 && udp.dst==67"), nowhere},
		"an answer":                    {"ls-blue", relay2 + to(two.HostMAC, "ip4.src=="+own.Address.String()+" && ip4.dst==10.10.10.2 && udp.src==67 && udp.dst==68"), topology.PortName(two.UID, two.Name)},
		"what the relay sends besides": {"ls-blue", relay2 + to(two.HostMAC, "ip4.src=="+own.Address.String()+" && ip4.dst==10.10.10.2 && tcp.dst==22"), nowhere},
		"what the relay sends on":      {"ls-blue", relay2 + to(gateway, "ip4.src==172.18.0.5 && ip4.dst==10.10.10.2 && udp.src==67 && udp.dst==68"), nowhere},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			trace := c.run("ovn-trace", "--db="+c.endpoint("sb"), "--summary", p.on, p.packet)
			if p.reaches != nowhere {
				g.Expect(trace).To(ContainSubstring("output to %q", p.reaches))
				return
			}
			for _, port := range []string{"ps-host-2_fabric", own.LogicalPort, other.LogicalPort, topology.PortName(two.UID, two.Name)} {
				g.Expect(trace).NotTo(ContainSubstring("output to %q", port))
			}
		})
	}
}

// OVN lets these through before it evaluates ACLs, so no security group keeps a host of the network from being another one's router.
func TestSecurityGroups_closedLetNeighbourDiscoveryThrough(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	c.startNorthd()
	n := c.northbound()
	closed := blue
	closed.Networks = []topology.Network{{Prefix: netip.MustParsePrefix("fd10::/64"), Gateway: netip.MustParseAddr("fd10::1")}}
	closed.SecurityGroups = []resourcev1.SecurityGroup{{Name: "closed"}}
	two, three := member(2), member(3)
	for m, ip := range map[*topology.Member]string{&two: "fd10::2", &three: "fd10::3"} {
		m.Addresses, m.SecurityGroups = []topology.Address{{HostIP: netip.MustParseAddr(ip)}}, []string{"closed"}
	}
	network, err := topology.New(closed, []topology.Member{two, three}, topology.Site{})
	g.Expect(err).NotTo(HaveOccurred())
	apply(t, n, network)
	g.Expect(n.Sync(soon(t))).To(Succeed())
	for name, p := range map[string]struct {
		says   string
		passes bool
	}{
		"a router advertisement":    {"ip6.dst==ff02::1 && icmp6.type==134 && icmp6.code==0", true},
		"a neighbour solicitation":  {"ip6.dst==ff02::1 && icmp6.type==135 && icmp6.code==0 && nd.target==fd10::2", true},
		"a multicast listener's":    {"ip6.dst==ff02::1 && icmp6.type==131", true},
		"an echo request":           {"ip6.dst==ff02::1 && icmp6.type==128 && icmp6.code==0", false},
		"anything else to everyone": {"ip6.dst==ff02::1 && udp.dst==5353", false},
	} {
		t.Run(name, func(t *testing.T) {
			trace := c.run("ovn-trace", "--db="+c.endpoint("sb"), "--summary", "ls-blue", fmt.Sprintf(
				"inport==%q && eth.src==%s && eth.dst==33:33:00:00:00:01 && ip.ttl==255 && ip6.src==fe80::aff:fe0a:a03 && %s",
				topology.PortName(three.UID, three.Name), three.HostMAC, p.says))
			NewWithT(t).Expect(strings.Contains(trace, fmt.Sprintf("output to %q", topology.PortName(two.UID, two.Name)))).To(Equal(p.passes), trace)
		})
	}
}

// A host of a closed security group gets its address from the relay of its DPU, whatever else a member of the group answers.
func TestSecurityGroups_closedHearOnlyTheRelayAnswer(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	c.startNorthd()
	n := c.northbound()
	four, six := topology.Network{Prefix: netip.MustParsePrefix("10.10.10.0/24"), Gateway: netip.MustParseAddr("10.10.10.1")},
		topology.Network{Prefix: netip.MustParsePrefix("fd10::/64"), Gateway: netip.MustParseAddr("fd10::1")}
	for _, version := range []struct {
		server, rogue, linkLocal, answer string
	}{
		{"172.19.0.9", "10.10.10.3", "", "ip4.dst==255.255.255.255 && ip4.src==%s && udp.src==67 && udp.dst==68"},
		{"fd19::9", "fd10::3", "fe80::aff:fe0a:a03", "ip6.dst==fe80::aff:fe0a:a02 && ip6.src==%s && udp.src==547 && udp.dst==546"},
	} {
		closed := blue
		closed.Networks, closed.Relayed = []topology.Network{four, six}, netip.MustParseAddr(version.server)
		closed.SecurityGroups = []resourcev1.SecurityGroup{{Name: "closed"}}
		two, three := member(2), member(3)
		for m, ip := range map[*topology.Member]string{&two: "2", &three: "3"} {
			m.Addresses = []topology.Address{{HostIP: netip.MustParseAddr("10.10.10." + ip)}, {HostIP: netip.MustParseAddr("fd10::" + ip)}}
		}
		two.SecurityGroups = []string{"closed"}
		network, err := topology.New(closed, []topology.Member{two, three}, topology.Site{})
		g.Expect(err).NotTo(HaveOccurred())
		apply(t, n, network)
		g.Expect(n.Sync(soon(t))).To(Succeed())
		relay, ok := network.Relay("dpu-2")
		g.Expect(ok).To(BeTrue())
		reaches := func(port, mac, from string) bool {
			trace := c.run("ovn-trace", "--db="+c.endpoint("sb"), "--summary", "ls-blue", fmt.Sprintf(
				"inport==%q && eth.src==%s && eth.dst==%s && ip.ttl==64 && "+version.answer, port, mac, two.HostMAC, from))
			return strings.Contains(trace, fmt.Sprintf("output to %q", topology.PortName(two.UID, two.Name)))
		}
		own := relay.Address.String()
		if !relay.Address.IsValid() {
			own = linkLocal(relay.MAC)
		}
		g.Expect(reaches(relay.LogicalPort, relay.MAC, own)).To(BeTrue(), "the relay's")
		rogue := topology.PortName(three.UID, three.Name)
		g.Expect(reaches(rogue, three.HostMAC, version.rogue)).To(BeFalse(), "a member's")
		if version.linkLocal != "" {
			g.Expect(reaches(rogue, three.HostMAC, version.linkLocal)).To(BeFalse(), "a member's link-local address")
		}
	}
}

// linkLocal address that follows from a MAC address (RFC 4291, EUI-64).
func linkLocal(text string) string {
	mac, err := net.ParseMAC(text)
	if err != nil {
		panic(err)
	}
	return netip.AddrFrom16([16]byte{0xfe, 0x80, 8: mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]}).String()
}
