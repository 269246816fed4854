package ovn_test

import (
	"fmt"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// What ovn-northd makes of a topology, as ovn-trace follows a packet through it: as far as the first NAT.
func TestTopology_leadsPackets(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	c.startNorthd()
	n := c.northbound()
	six, three := blue, member(3)
	six.UID, six.Name = "six", "six"
	six.Networks = []topology.Network{{Prefix: netip.MustParsePrefix("fd10::/64"), Gateway: netip.MustParseAddr("fd10::1")}}
	three.Addresses = []topology.Address{{
		HostIP: netip.MustParseAddr("fd10::3"), FabricIP: netip.MustParseAddr("fd18::3"), FabricBits: 64, NextHop: netip.MustParseAddr("fd18::1"),
	}}
	ipv6, err := topology.New(six, []topology.Member{three}, topology.Site{})
	g.Expect(err).NotTo(HaveOccurred())
	apply(t, n, network(t, member(2)))
	apply(t, n, ipv6)
	// ovn-trace gives the router's own solicitations no hop limit of 255, so they would be no neighbour discovery to it.
	g.Expect(n.Sync(soon(t))).To(Succeed())
	c.sbctl("create", "mac_binding", "logical_port=gr-host-3_ps-host-3", `ip="fd18::1"`, `mac="02:00:00:00:00:01"`,
		"datapath="+c.sbctl("--bare", "--columns=_uuid", "find", "datapath_binding", "external_ids:name=gr-host-3"))

	host2, host3 := topology.PortName(member(2).UID, "host-2"), topology.PortName(three.UID, "host-3")
	const nowhere = ""
	for name, p := range map[string]struct{ on, port, to, ip, source, destination, reaches string }{
		"to the internet":               {"ls-blue", host2, "lr-blue_ls-blue", "ip4", "10.10.10.2", "198.51.100.1", "ps-host-2_fabric"},
		"to the internet, IPv6":         {"ls-six", host3, "lr-six_ls-six", "ip6", "fd10::3", "2001:db8::1", "ps-host-3_fabric"},
		"under another's address":       {"ls-blue", host2, "lr-blue_ls-blue", "ip4", "10.10.10.9", "198.51.100.1", nowhere},
		"to the fabric address":         {"ps-host-2", "ps-host-2_fabric", "gr-host-2_ps-host-2", "ip4", "172.18.0.9", "172.18.1.2", "ps-host-2_gr-host-2"},
		"to the fabric address, IPv6":   {"ps-host-3", "ps-host-3_fabric", "gr-host-3_ps-host-3", "ip6", "fd18::9", "fd18::3", "ps-host-3_gr-host-3"},
		"to the host's address":         {"ps-host-2", "ps-host-2_fabric", "gr-host-2_ps-host-2", "ip4", "172.18.0.9", "10.10.10.2", nowhere},
		"to the host's address, IPv6":   {"ps-host-3", "ps-host-3_fabric", "gr-host-3_ps-host-3", "ip6", "fd18::9", "fd10::3", nowhere},
		"IPv6 where there is only IPv4": {"ps-host-2", "ps-host-2_fabric", "gr-host-2_ps-host-2", "ip6", "fd18::9", "fd18::2", nowhere},
		"IPv4 where there is only IPv6": {"ps-host-3", "ps-host-3_fabric", "gr-host-3_ps-host-3", "ip4", "172.18.0.9", "172.18.1.3", nowhere},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			source := "02:00:00:00:00:99"
			if p.port == host2 || p.port == host3 {
				source = member(map[string]int{host2: 2, host3: 3}[p.port]).HostMAC
			}
			trace := c.run("ovn-trace", "--db="+c.endpoint("sb"), "--summary", p.on, fmt.Sprintf(
				"inport==%q && eth.src==%s && eth.dst==%s && %s.src==%s && %s.dst==%s && ip.ttl==64 && tcp.dst==80",
				p.port, source, c.nbctl("--bare", "--columns=mac", "list", "logical_router_port", p.to),
				p.ip, p.source, p.ip, p.destination))
			if p.reaches == nowhere {
				g.Expect(trace).NotTo(ContainSubstring("output to"))
				return
			}
			g.Expect(trace).To(ContainSubstring("output to %q", p.reaches))
		})
	}
}
