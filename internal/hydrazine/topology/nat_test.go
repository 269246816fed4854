package topology_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

func dualGroup() topology.Group {
	g := group("10.10.10.0/24", "10.10.10.1")
	g.Networks = append(g.Networks, group("fd10::/64", "fd10::1").Networks...)
	return g
}

// dualMember has the second address of another member.
func dualMember(name, host, fabric, second, secondFabric string) topology.Member {
	m := member(name, host, fabric)
	m.Addresses = append(m.Addresses, member(name, second, secondFabric).Addresses...)
	return m
}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func drawAt(t testing.TB, site topology.Site, g topology.Group, members ...topology.Member) *topology.Topology {
	t.Helper()
	network, err := topology.New(g, members, site)
	if err != nil {
		t.Fatal(err)
	}
	return network
}

func TestNAT(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*topology.Member)
		rules  []string
	}{
		"private": {func(m *topology.Member) { m.Access = resourcev1.NetworkAccess }, []string{"snat 172.18.0.105 10.10.10.2", "snat fd18::105 fd10::2"}},
		"by the fabric, with a public address that it isn't to have": {func(*topology.Member) {},
			[]string{"snat 172.18.0.105 10.10.10.2", "dnat 172.18.0.105 10.10.10.2", "snat fd18::105 fd10::2", "dnat fd18::105 fd10::2"}},
		"public": {func(m *topology.Member) { m.Access = resourcev1.PublicAccess }, []string{
			"snat 203.0.113.2 10.10.10.0/24", "dnat 203.0.113.2 10.10.10.2", "snat 172.18.0.105 10.10.10.2 in the data centre",
			"dnat 172.18.0.105 10.10.10.2", "snat fd18::105 fd10::2", "dnat fd18::105 fd10::2",
		}},
		"the second is public": {
			func(m *topology.Member) {
				m.Access, m.Addresses[0].PublicIP, m.Addresses[1].PublicIP = resourcev1.PublicAccess, netip.Addr{}, netip.MustParseAddr("2001:db8::2")
			}, []string{
				"snat 172.18.0.105 10.10.10.2", "dnat 172.18.0.105 10.10.10.2", "snat 2001:db8::2 fd10::/64", "dnat 2001:db8::2 fd10::2",
				"snat fd18::105 fd10::2 in the data centre", "dnat fd18::105 fd10::2",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, m := NewWithT(t), dualMember("a", "10.10.10.2", "172.18.0.105/24", "fd10::2", "fd18::105/64")
			m.Addresses[0].PublicIP = netip.MustParseAddr("203.0.113.2")
			c.change(&m)
			network := drawAt(t, topology.Site{FabricPrefixes: prefixes("172.16.0.0/12", "fd18::/16")}, dualGroup(), m)
			g.Expect(network.Refused).To(BeEmpty())
			fitTogether(g, network)
			var rules []string
			for _, row := range network.Rows() {
				if nat, ok := row.(*nbdb.NAT); ok {
					rule := strings.Join([]string{nat.Type, nat.ExternalIP, nat.LogicalIP}, " ")
					if nat.AllowedExtIPs != nil {
						rule += " in the data centre"
					}
					rules = append(rules, rule)
				}
			}
			g.Expect(rules).To(Equal(c.rules))
			g.Expect(find[*nbdb.ACL](t, network.Rows(), "own-inport").Match).To(Equal(`inport == "ps-a_fabric" && (ip4.dst == {172.18.0.105` +
				map[bool]string{true: ", 203.0.113.2"}[slices.Contains(c.rules, "dnat 203.0.113.2 10.10.10.2")] + `} || ip6.dst == {fd18::105` +
				map[bool]string{true: ", 2001:db8::2"}[slices.Contains(c.rules, "dnat 2001:db8::2 fd10::2")] + `, fe80::800:acff:fe12:69, ff00::/8})`))
		})
	}
}

// Both versions go over the same switches and routers.
func TestRows_ofAMemberWithTwoAddresses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rows := draw(t, dualGroup(), dualMember("a", "10.10.10.2", "172.18.0.105/24", "fd10::2", "fd18::105/64"), member("b", "10.10.10.3", "")).Rows()
	find := func(kind string) []string {
		for _, row := range rows {
			if port, ok := row.(*nbdb.LogicalRouterPort); ok && strings.HasPrefix(ids(row)[ovn.KeyID], kind+"/") {
				return port.Networks
			}
		}
		return nil
	}
	g.Expect(find("gateway")).To(Equal([]string{"10.10.10.1/24", "fd10::1/64"}))
	g.Expect(find("transit-router")).To(Equal([]string{"169.254.1.9/30", "fdbe:d91a:7e00::9/126"}))
	g.Expect(find("transit-gateway")).To(Equal([]string{"169.254.1.10/30", "fdbe:d91a:7e00::a/126"}))
	g.Expect(find("public-gateway")).To(Equal([]string{"172.18.0.105/24", "fd18::105/64"}))
	var routes, hosts []string
	for _, row := range rows {
		switch r := row.(type) {
		case *nbdb.LogicalRouterStaticRoute:
			routes = append(routes, *r.Policy+" "+r.IPPrefix+" "+r.Nexthop)
		case *nbdb.LogicalSwitchPort:
			if r.Options["requested-chassis"] != "" {
				hosts = append(hosts, r.PortSecurity...)
			}
		case *nbdb.LogicalRouterPort:
			if r.Name == "lr-blue_ls-blue" {
				g.Expect(r.Ipv6RaConfigs).To(HaveKeyWithValue("address_mode", "dhcpv6_stateful"))
			} else {
				g.Expect(r.Ipv6RaConfigs).To(BeEmpty())
			}
		}
	}
	g.Expect(routes).To(Equal([]string{
		"dst-ip 10.10.10.2/32 10.10.10.2", "dst-ip fd10::2/128 fd10::2",
		"src-ip 10.10.10.2/32 169.254.1.10", "dst-ip 10.10.10.2/32 169.254.1.9", "dst-ip 0.0.0.0/0 172.18.0.1",
		"src-ip fd10::2/128 fdbe:d91a:7e00::a", "dst-ip fd10::2/128 fdbe:d91a:7e00::9", "dst-ip ::/0 fd18::1",
		"dst-ip 10.10.10.3/32 10.10.10.3",
	}))
	g.Expect(hosts).To(Equal([]string{"02:00:0a:0a:0a:02 10.10.10.2 fd10::2", "02:00:0a:0a:0a:03 10.10.10.3"}))
}
