package topology_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/ovn-kubernetes/libovsdb/model"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func group(network, gateway string) topology.Group {
	return topology.Group{UID: "group-uid", Name: "blue", Networks: []topology.Network{
		{Prefix: netip.MustParsePrefix(network), Gateway: netip.MustParseAddr(gateway)},
	}}
}

func twoNetworks(second, gateway string) topology.Group {
	g := group("10.10.10.0/24", "10.10.10.1")
	g.Networks = append(g.Networks, group(second, gateway).Networks...)
	return g
}

func member(name, host, fabric string) topology.Member {
	ip := netip.MustParseAddr(host)
	last := ip.AsSlice()
	m := topology.Member{
		UID: "uid-of-" + name, Name: name, Created: began,
		HostMAC: fmt.Sprintf("02:00:0a:0a:%02x:%02x", last[len(last)-2], last[len(last)-1]),
		Chassis: "dpu-" + name, Access: resourcev1.FabricAccess,
	}
	a := topology.Address{HostIP: ip}
	if fabric != "" {
		prefix := netip.MustParsePrefix(fabric)
		a.FabricIP, a.FabricBits, a.NextHop = prefix.Addr(), prefix.Bits(), prefix.Masked().Addr().Next()
	}
	m.Addresses = []topology.Address{a}
	return m
}

func draw(t testing.TB, g topology.Group, members ...topology.Member) *topology.Topology {
	t.Helper()
	network, err := topology.New(g, members, topology.Site{})
	if err != nil {
		t.Fatal(err)
	}
	return network
}

// find returns the only row of its type with a key that begins so.
func find[T model.Model](t testing.TB, rows []model.Model, kind string) T {
	t.Helper()
	var found []T
	for _, row := range rows {
		if r, ok := row.(T); ok && strings.HasPrefix(ids(row)[ovn.KeyID], kind+"/") {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d rows are %s", len(found), kind)
	}
	return found[0]
}

func TestRows_ofOneMember(t *testing.T) {
	t.Parallel()
	for version, c := range map[string]struct {
		group                          topology.Group
		member                         topology.Member
		gateway, router, link, gr, out string // addresses of ports
		back, any, next                string
		own, inside                    string
	}{
		"IPv4": {
			group: group("10.10.10.0/24", "10.10.10.1"), member: member("a", "10.10.10.2", "172.18.0.105/24"),
			gateway: "10.10.10.1/24", router: "169.254.1.9/30", gr: "169.254.1.10/30", out: "172.18.0.105/24",
			back: "10.10.10.2/32", any: "0.0.0.0/0", next: "172.18.0.1",
			own: "ip4. == {172.18.0.105}", inside: "ip4. == {169.254.0.0/16, 224.0.0.0/4, 240.0.0.0/4, 10.10.10.0/24}",
		},
		"IPv6": {
			group: group("fd10::/64", "fd10::1"), member: member("a", "fd10::2", "fd18::105/64"),
			gateway: "fd10::1/64", router: "fdbe:d91a:7e00::9/126", gr: "fdbe:d91a:7e00::a/126", out: "fd18::105/64",
			back: "fd10::2/128", any: "::/0", next: "fd18::1",
			own: "ip6. == {fd18::105, fe80::1835:79ff:fe4e:5697, ff00::/8}", inside: "ip6. == {fdbe:d91a:7e00::/62, ff00::/8, fd10::/64}",
		},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			g, rows, v := NewWithT(t), draw(t, c.group, c.member).Rows(), map[bool]string{true: "ip4", false: "ip6"}[version == "IPv4"]
			g.Expect(rows).To(HaveLen(map[string]int{"ip4": 49, "ip6": 53}[v]))
			host := find[*nbdb.LogicalSwitchPort](t, rows, "host")
			g.Expect(host.Name).To(Equal(topology.PortName("uid-of-a", "a")))
			g.Expect(host.Addresses).To(Equal([]string{c.member.HostMAC + " " + c.member.Addresses[0].HostIP.String()}))
			g.Expect(host.PortSecurity).To(Equal(host.Addresses))
			g.Expect(host.Options).To(Equal(map[string]string{"requested-chassis": "dpu-a"}))

			logical := find[*nbdb.LogicalSwitch](t, rows, "logical-switch")
			g.Expect(logical.Name).To(Equal("ls-blue"))
			g.Expect(logical.Ports).To(ContainElement(host.UUID))
			for kind, port := range map[string]struct{ name, address, leads string }{
				"gateway":         {"lr-blue_ls-blue", c.gateway, "ls-blue_lr-blue"},
				"transit-router":  {"lr-blue_ts-a", c.router, "ts-a_lr-blue"},
				"transit-gateway": {"gr-a_ts-a", c.gr, "ts-a_gr-a"},
				"public-gateway":  {"gr-a_ps-a", c.out, "ps-a_gr-a"},
			} {
				lrp, lsp := find[*nbdb.LogicalRouterPort](t, rows, kind), find[*nbdb.LogicalSwitchPort](t, rows, kind)
				g.Expect(lrp.Name).To(Equal(port.name))
				g.Expect(lrp.Networks).To(Equal([]string{port.address}))
				g.Expect(lsp.Name).To(Equal(port.leads))
				g.Expect(lsp.Type).To(Equal("router"))
				g.Expect(lsp.Options).To(HaveKeyWithValue("router-port", lrp.Name))
			}
			g.Expect(find[*nbdb.LogicalSwitchPort](t, rows, "public-gateway").Options).To(HaveKeyWithValue("nat-addresses", "router"))
			localnet := find[*nbdb.LogicalSwitchPort](t, rows, "localnet")
			g.Expect(localnet.Type).To(Equal("localnet"))
			g.Expect(localnet.Options).To(Equal(map[string]string{"network_name": "fabric"}))
			gateway := find[*nbdb.LogicalRouter](t, rows, "gateway-router")
			g.Expect(gateway.Options).To(HaveKeyWithValue("chassis", "dpu-a"))

			out := find[*nbdb.LogicalRouterStaticRoute](t, rows, "route-out-"+v)
			g.Expect([]string{*out.Policy, out.IPPrefix, out.Nexthop, *out.OutputPort}).
				To(Equal([]string{"src-ip", c.back, address(c.gr), "lr-blue_ts-a"}))
			back := find[*nbdb.LogicalRouterStaticRoute](t, rows, "route-back-"+v)
			g.Expect([]string{*back.Policy, back.IPPrefix, back.Nexthop, *back.OutputPort}).
				To(Equal([]string{"dst-ip", c.back, address(c.router), "gr-a_ts-a"}))
			fabric := find[*nbdb.LogicalRouterStaticRoute](t, rows, "route-fabric-"+v)
			g.Expect([]string{*fabric.Policy, fabric.IPPrefix, fabric.Nexthop, *fabric.OutputPort}).
				To(Equal([]string{"dst-ip", c.any, c.next, "gr-a_ps-a"}))

			for _, kind := range []string{"snat", "dnat"} {
				nat := find[*nbdb.NAT](t, rows, kind+"-"+v)
				g.Expect([]string{nat.Type, nat.ExternalIP, nat.LogicalIP}).To(Equal([]string{kind, address(c.out), c.member.Addresses[0].HostIP.String()}))
				g.Expect(gateway.Nat).To(ContainElement(nat.UUID))
			}
			var acls []string
			for _, d := range []struct{ port, direction, end string }{{"inport", "from-lport", "dst"}, {"outport", "to-lport", "src"}} {
				own, guard := find[*nbdb.ACL](t, rows, "own-"+d.port), find[*nbdb.ACL](t, rows, "guard-"+d.port)
				g.Expect(own.Match).To(Equal(d.port + ` == "ps-a_fabric" && (` + strings.Replace(c.own, ".", "."+d.end, 1) + `)`))
				g.Expect(guard.Match).To(Equal(d.port + ` == "ps-a_fabric" && ip`))
				g.Expect([]string{own.Action, own.Direction, guard.Action, guard.Direction}).To(Equal([]string{"allow", d.direction, "drop", d.direction}))
				g.Expect(own.Priority).To(BeNumerically(">", guard.Priority))
				acls = append(acls, own.UUID, guard.UUID)
			}
			for _, d := range []struct{ port, direction, end string }{{"inport", "from-lport", "src"}, {"outport", "to-lport", "dst"}} {
				inside := find[*nbdb.ACL](t, rows, "inside-"+d.port)
				g.Expect(inside.Match).To(Equal(d.port + ` == "ps-a_fabric" && (` + strings.Replace(c.inside, ".", "."+d.end, 1) + `)`))
				g.Expect([]string{inside.Action, inside.Direction}).To(Equal([]string{"drop", d.direction}))
				g.Expect(inside.Priority).To(BeNumerically(">", find[*nbdb.ACL](t, rows, "own-"+d.port).Priority))
				acls = append(acls, inside.UUID)
			}
			if v == "ip6" {
				neighbours := find[*nbdb.ACL](t, rows, "neighbours")
				g.Expect(neighbours.Match).To(Equal(`inport == "ps-a_fabric" && nd`))
				acls = append(acls, neighbours.UUID, find[*nbdb.ACL](t, rows, "asks-neighbours").UUID)
			}
			g.Expect(find[*nbdb.LogicalSwitch](t, rows, "public-switch").ACLs).To(Equal(acls))
		})
	}
}

// Nothing but the logical router joins the hosts of a group: a switch that all gateway routers were on would have each of them know
// all others.
func TestRows_eachHostHasATransitSwitch(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rows := draw(t, group("10.10.10.0/24", "10.10.10.1"), member("a", "10.10.10.2", "172.18.0.105/24"),
		member("b", "10.10.10.3", "172.18.0.107/24"), member("c", "10.10.10.4", "172.18.0.109/24")).Rows()
	ports, switches := map[string]string{}, map[string][]string{}
	for _, row := range rows {
		if port, ok := row.(*nbdb.LogicalSwitchPort); ok {
			ports[port.UUID] = port.Name
		}
	}
	for _, row := range rows {
		if s, ok := row.(*nbdb.LogicalSwitch); ok && strings.HasPrefix(ids(row)[ovn.KeyID], "transit-switch/") {
			for _, port := range s.Ports {
				switches[s.Name] = append(switches[s.Name], ports[port])
			}
		}
	}
	g.Expect(switches).To(HaveLen(3))
	for _, host := range []string{"a", "b", "c"} {
		g.Expect(switches["ts-"+host]).To(ConsistOf("ts-"+host+"_lr-blue", "ts-"+host+"_gr-"+host))
	}
}

func address(prefix string) string { return netip.MustParsePrefix(prefix).Addr().String() }

// What a member has depends on what is asked for and on what its agent has said.
func TestRows_dependOnAccessAndAgent(t *testing.T) {
	t.Parallel()
	const switchAndPort = "address-set-fabric-ip4 route-in-ip4 gateway gateway/switch host logical-router logical-switch"
	const way = "address-set-fabric-ip4 route-in-ip4 gateway gateway/switch own-inport guard-inport own-outport guard-outport inside-inport inside-outport host localnet logical-router logical-switch public-gateway public-gateway/switch public-switch" +
		" route-back-ip4 route-out-ip4 snat-ip4 transit-gateway transit-gateway/switch transit-router transit-router/switch transit-switch gateway-router"
	for name, c := range map[string]struct {
		change func(*topology.Member)
		kinds  string
	}{
		"from the fabric":       {func(*topology.Member) {}, way + " route-fabric-ip4 dnat-ip4"},
		"from the internet":     {func(m *topology.Member) { m.Access = resourcev1.PublicAccess }, way + " route-fabric-ip4 dnat-ip4"},
		"only to the fabric":    {func(m *topology.Member) { m.Access = resourcev1.NetworkAccess }, way + " route-fabric-ip4"},
		"no access said":        {func(m *topology.Member) { m.Access = "" }, way + " route-fabric-ip4"},
		"no next hop":           {func(m *topology.Member) { m.Addresses[0].NextHop = netip.Addr{} }, way + " dnat-ip4"},
		"no fabric address":     {func(m *topology.Member) { m.Addresses[0].FabricIP = netip.Addr{} }, switchAndPort},
		"prefix not known yet":  {func(m *topology.Member) { m.Addresses[0].FabricBits = 0 }, switchAndPort},
		"chassis not known yet": {func(m *topology.Member) { m.Chassis = "" }, switchAndPort},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, m := NewWithT(t), member("a", "10.10.10.2", "172.18.0.105/24")
			c.change(&m)
			network := draw(t, group("10.10.10.0/24", "10.10.10.1"), m)
			var kinds []string
			for _, row := range network.Rows() {
				kind, _, _ := strings.Cut(ids(row)[ovn.KeyID], "/")
				if strings.HasSuffix(ids(row)[ovn.KeyID], "/switch") {
					kind += "/switch"
				}
				kinds = append(kinds, kind)
			}
			g.Expect(kinds).To(ConsistOf(strings.Fields(c.kinds + strings.Repeat(" meter meter-band", 10) + " copp")))
			g.Expect(network.SNATIPs()).To(HaveLen(strings.Count(c.kinds, "snat")))
		})
	}
}

func TestNew_saysWhoIsNotIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*topology.Member)
		says   string
	}{
		"no UID":                {func(m *topology.Member) { m.UID = "" }, "no UID"},
		"no name":               {func(m *topology.Member) { m.Name = `x" || 1` }, "no proper name"},
		"no MAC address":        {func(m *topology.Member) { m.HostMAC = "02:00" }, "not a MAC address"},
		"a long MAC address":    {func(m *topology.Member) { m.HostMAC = "02:00:00:00:00:00:00:01" }, "not a MAC address"},
		"outside":               {func(m *topology.Member) { m.Addresses[0].HostIP = netip.MustParseAddr("10.10.11.2") }, "not in 10.10.10.0/24"},
		"no address":            {func(m *topology.Member) { m.Addresses[0].HostIP = netip.Addr{} }, "not in 10.10.10.0/24"},
		"the gateway's address": {func(m *topology.Member) { m.Addresses[0].HostIP = netip.MustParseAddr("10.10.10.1") }, "belongs to the gateway"},
		"mapped":                {func(m *topology.Member) { m.Addresses[0].FabricIP = netip.MustParseAddr("::ffff:172.18.0.9") }, "can't be translated"},
		"two versions":          {func(m *topology.Member) { m.Addresses[0].FabricIP = netip.MustParseAddr("fd18::9") }, "can't be translated"},
		"one of the links":      {func(m *topology.Member) { m.Addresses[0].FabricIP = netip.MustParseAddr("169.254.1.1") }, "can't be translated"},
		"prefix":                {func(m *topology.Member) { m.Addresses[0].FabricBits = 33 }, "no prefix length"},
		"negative prefix":       {func(m *topology.Member) { m.Addresses[0].FabricBits = -1 }, "no prefix length"},
		"next hop's version":    {func(m *topology.Member) { m.Addresses[0].NextHop = netip.MustParseAddr("fe80::1") }, "can't be the next hop"},
		"next hop is itself":    {func(m *topology.Member) { m.Addresses[0].NextHop = m.Addresses[0].FabricIP }, "three addresses"},
		"both addresses one":    {func(m *topology.Member) { m.Addresses[0].FabricIP = m.Addresses[0].HostIP }, "three addresses"},
		"first's UID":           {func(m *topology.Member) { m.UID = "uid-of-first" }, "UID uid-of-first belongs to first"},
		"first's name":          {func(m *topology.Member) { m.Name = "first" }, "name first belongs to first"},
		"first's MAC address":   {func(m *topology.Member) { m.HostMAC = "02:00:0A:0A:0A:02" }, "MAC address 02:00:0a:0a:0a:02 belongs to first"},
		"first's address":       {func(m *topology.Member) { m.Addresses[0].HostIP = netip.MustParseAddr("10.10.10.2") }, "host address 10.10.10.2 belongs to first"},
		"first's public":        {func(m *topology.Member) { m.Addresses[0].PublicIP = netip.MustParseAddr("203.0.113.2") }, "outside address 203.0.113.2 belongs to first"},
		"public and fabric":     {func(m *topology.Member) { m.Addresses[0].PublicIP = m.Addresses[0].FabricIP }, "can't be translated"},
		"public, and no fabric": {func(m *topology.Member) {
			m.Addresses[0] = topology.Address{HostIP: m.Addresses[0].HostIP, PublicIP: netip.MustParseAddr("203.0.113.3")}
		}, "can't be translated"},
		"two addresses":  {func(m *topology.Member) { m.Addresses = append(m.Addresses, m.Addresses[0]) }, "2 addresses in 1 networks"},
		"nowhere":        {func(m *topology.Member) { m.Addresses = nil }, "0 addresses in 1 networks"},
		"first's fabric": {func(m *topology.Member) { m.Addresses[0].FabricIP = netip.MustParseAddr("172.18.0.105") }, "outside address 172.18.0.105 belongs to first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			first, second := member("first", "10.10.10.2", "172.18.0.105/24"), member("second", "10.10.10.3", "172.18.0.107/24")
			first.Addresses[0].PublicIP = netip.MustParseAddr("203.0.113.2")
			second.Created = began.Add(time.Second)
			c.change(&second)
			in := group("10.10.10.0/24", "10.10.10.1")
			network := draw(t, in, second, first)
			g.Expect(network.Refused).To(HaveLen(1))
			g.Expect(network.Refused[second.UID]).To(MatchError(ContainSubstring(c.says)))
			g.Expect(network.Rows()).To(Equal(draw(t, in, first).Rows()))
		})
	}
}

func TestNew_refusesAGroupThatMakesNoSense(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		group topology.Group
		says  string
	}{
		"nothing":       {topology.Group{}, "no UID"},
		"no network":    {topology.Group{UID: "x", Name: "x"}, "one network, or two"},
		"two of a kind": {twoNetworks("10.10.11.0/24", "10.10.11.1"), "two of different IP versions"},
		"second":        {twoNetworks("fd10::/64", "fd11::1"), "not in fd10::/64"},
		"not its start": {group("10.10.10.2/24", "10.10.10.1"), "not a network"},
		"gateway":       {group("10.10.10.0/24", "10.10.11.1"), "not in 10.10.10.0/24"},
		"network":       {group("10.10.10.0/24", "10.10.10.0"), "can't be the gateway"},
		"broadcast":     {group("10.10.10.0/24", "10.10.10.255"), "can't be the gateway"},
		"IPv6 network":  {group("fd10::/64", "fd10::"), "can't be the gateway"},
		"relays":        {group("169.254.200.0/24", "169.254.200.1"), "between its routers"},
		"links":         {group("169.254.0.0/24", "169.254.0.1"), "between its routers"},
		"IPv6 links":    {group("fd00::/8", "fd00::1"), "between its routers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := topology.New(c.group, nil, topology.Site{})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

// Hosts 8,128 apart come upon the same link. The younger one gives way.
func TestRows_linksOfALargeNetworkDontCollide(t *testing.T) {
	t.Parallel()
	g, in := NewWithT(t), group("10.0.0.0/8", "10.0.0.1")
	first, second, third := member("a", "10.0.0.2", "172.18.0.2/16"), member("b", "10.0.31.194", "172.18.0.3/16"), member("c", "10.0.0.3", "172.18.0.4/16")
	first.Created = began.Add(time.Second)
	link := func(name string, members ...topology.Member) string {
		for _, row := range draw(t, in, members...).Rows() {
			if port, ok := row.(*nbdb.LogicalRouterPort); ok && port.Name == "gr-"+name+"_ts-"+name {
				return port.Networks[0]
			}
		}
		return ""
	}
	g.Expect(link("a", first)).To(Equal("169.254.1.10/30"))
	g.Expect(link("b", second)).To(Equal("169.254.1.10/30"))
	g.Expect(link("b", first, second)).To(Equal("169.254.1.10/30"), "it is the older one")
	g.Expect(link("a", first, second)).To(Equal("169.254.1.14/30"))
	g.Expect(link("a", first, second, third)).To(Equal("169.254.1.18/30"), "and goes on until one is free")
}

func TestPortName_isAnotherOneForAnotherObject(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(topology.PortName("1", "host")).To(MatchRegexp("^host_[0-9a-f]{8}$"))
	g.Expect(topology.PortName("1", "host")).NotTo(Equal(topology.PortName("2", "host")))
}

func ids(row model.Model) map[string]string {
	switch r := row.(type) {
	case *nbdb.LogicalSwitch:
		return r.ExternalIDs
	case *nbdb.LogicalSwitchPort:
		return r.ExternalIDs
	case *nbdb.LogicalRouter:
		return r.ExternalIDs
	case *nbdb.LogicalRouterPort:
		return r.ExternalIDs
	case *nbdb.LogicalRouterStaticRoute:
		return r.ExternalIDs
	case *nbdb.NAT:
		return r.ExternalIDs
	case *nbdb.ACL:
		return r.ExternalIDs
	case *nbdb.PortGroup:
		return r.ExternalIDs
	case *nbdb.AddressSet:
		return r.ExternalIDs
	case *nbdb.Copp:
		return r.ExternalIDs
	case *nbdb.Meter:
		return r.ExternalIDs
	case *nbdb.MeterBand:
		return r.ExternalIDs
	}
	return nil
}
