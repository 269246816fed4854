package ovn_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// unparsed are the matches that OVN leaves out because it doesn't understand them. ovn-trace reads all of them, as
// ovn-controller does, with the sets of addresses and ports that they name.
func (c *central) unparsed() []string {
	c.t.Helper()
	said := c.run("ovn-trace", "-vconsole:warn", "--db="+c.endpoint("sb"), "--minimal", "nothing",
		`inport == "nothing" && eth.src == 02:00:00:00:00:99`)
	var bad []string
	for line := range strings.Lines(said) {
		if strings.Contains(line, "|WARN|") || strings.Contains(line, "|ERR|") {
			bad = append(bad, strings.TrimSpace(line))
		}
	}
	return bad
}

// A match that isn't understood is left out, and lets everything through.
func TestMatches_areUnderstoodByOVN(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), newCentral(t)
	c.startNorthd()
	n := c.northbound()
	c.nbctl("ls-add", "nothing", "--", "lsp-add", "nothing", "nothing")
	random := rand.New(rand.NewPCG(7, 7))
	rules := 0
	for i := range 40 {
		group, members, site := anything(random, i)
		network, err := topology.New(group, members, site)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(network.Refused).To(BeEmpty())
		apply(t, n, network)
		for _, s := range group.SecurityGroups {
			rules += len(s.Rules)
		}
	}
	g.Expect(rules).To(BeNumerically(">", 100))
	g.Expect(n.Sync(soon(t))).To(Succeed())
	g.Expect(c.unparsed()).To(BeEmpty())

	c.nbctl("--wait=sb", "acl-add", "ls-any-0", "from-lport", "1", "ip4.src == $nobody", "drop")
	g.Expect(c.unparsed()).To(And(Not(BeEmpty()), HaveEach(ContainSubstring("nobody"))))
}

// anything is a group as an API server would let it through, and worse.
func anything(random *rand.Rand, i int) (topology.Group, []topology.Member, topology.Site) {
	pick := func(n int) int { return random.IntN(n) }
	networks := []topology.Network{
		{Prefix: netip.MustParsePrefix("10.10.10.0/24"), Gateway: netip.MustParseAddr("10.10.10.1")},
		{Prefix: netip.MustParsePrefix("fd10::/64"), Gateway: netip.MustParseAddr("fd10::1")},
	}
	group := topology.Group{UID: fmt.Sprint("any-", i), Name: fmt.Sprint("any-", i), Networks: networks[pick(2) : 1+pick(2)]}
	if i%3 == 0 {
		group.Networks = networks
	}
	if len(group.Networks) == 0 {
		group.Networks = networks[:1]
	}
	if pick(2) == 0 {
		group.Relayed = map[bool]netip.Addr{true: netip.MustParseAddr("172.19.0.9"), false: netip.MustParseAddr("fd19::9")}[group.Networks[0].Gateway.Is4()]
	}
	for range pick(4) {
		group.SecurityGroups = append(group.SecurityGroups, anySecurityGroup(random, len(group.SecurityGroups)))
	}
	var members []topology.Member
	for j := range 1 + pick(3) {
		m := member(i*4 + j + 2)
		m.Access, m.Addresses = resourcev1.PublicAccess, nil
		for _, network := range group.Networks {
			a := topology.Address{FabricBits: 24}
			last := byte(j + 2)
			if network.Gateway.Is4() {
				a.HostIP, a.FabricIP, a.PublicIP = netip.AddrFrom4([4]byte{10, 10, 10, last}), netip.AddrFrom4([4]byte{172, 18, byte(i), last}), netip.AddrFrom4([4]byte{203, 0, 113, last})
			} else {
				a.HostIP, a.FabricIP = netip.MustParseAddr(fmt.Sprint("fd10::", last)), netip.MustParseAddr(fmt.Sprintf("fd18:%d::%d", i, last))
				a.PublicIP = netip.MustParseAddr(fmt.Sprint("2001:db8::", last))
			}
			m.Addresses = append(m.Addresses, a)
		}
		m.SecurityGroups = [][]string{nil, {"s-0"}, {"s-1", "s-0"}, {`x" || 1`}}[pick(4)]
		members = append(members, m)
	}
	site := topology.Site{Underlay: []netip.Addr{netip.MustParseAddr("172.18.0.5"), netip.MustParseAddr("fd18::5")}}
	for _, list := range []*[]netip.Prefix{&site.Denied, &site.Shared, &site.FabricPrefixes} {
		for range pick(3) {
			*list = append(*list, netip.MustParsePrefix(anyPrefix(random)))
		}
	}
	return group, members, site
}

func anySecurityGroup(random *rand.Rand, i int) resourcev1.SecurityGroup {
	pick := func(n int) int { return random.IntN(n) }
	s := resourcev1.SecurityGroup{Name: fmt.Sprint("s-", i)}
	for range pick(9) {
		rule := resourcev1.SecurityRule{
			Direction: []resourcev1.SecurityDirection{resourcev1.Ingress, resourcev1.Egress, "Sideways"}[pick(3)],
			Protocol:  []resourcev1.SecurityProtocol{"", "Any", "TCP", "UDP", "ICMP", "GRE && 1"}[pick(6)],
		}
		for range pick(4) {
			first := int32(pick(65600) - 10)
			rule.Ports = append(rule.Ports, resourcev1.PortRange{First: first, Last: []int32{0, first, first + 10, first - 10}[pick(4)]})
		}
		for range pick(3) {
			rule.Prefixes = append(rule.Prefixes, resourcev1.IPPrefix(anyPrefix(random)))
		}
		if pick(4) == 0 {
			rule.Prefixes = append(rule.Prefixes, `10.0.0.0/8} || 1 || ip4.src == {10.0.0.0/8`)
		}
		rule.SecurityGroups = [][]string{nil, nil, {"s-0"}, {"s-0", "s-1"}, {`s-0"`, "no-such"}}[pick(5)]
		s.Rules = append(s.Rules, rule)
	}
	return s
}

func anyPrefix(random *rand.Rand) string {
	if random.IntN(2) == 0 {
		p, _ := netip.AddrFrom4([4]byte{byte(random.IntN(224)), byte(random.IntN(256)), byte(random.IntN(256)), byte(random.IntN(256))}).Prefix(random.IntN(33))
		return p.String()
	}
	p, _ := netip.AddrFrom16([16]byte{0x20, byte(random.IntN(256)), byte(random.IntN(256)), 15: byte(random.IntN(256))}).Prefix(random.IntN(129))
	return p.String()
}
