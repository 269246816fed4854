package topology_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/ovn-kubernetes/libovsdb/model"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// set returns the addresses of the set of a kind and IP version.
func set(t *testing.T, rows []model.Model, kind string) []netip.Prefix {
	t.Helper()
	return prefixes(find[*nbdb.AddressSet](t, rows, "address-set-"+kind).Addresses...)
}

func contains(all []netip.Prefix, address string) bool {
	for _, p := range all {
		if p.Contains(netip.MustParseAddr(address)) {
			return true
		}
	}
	return false
}

// What a site denies and shares is never meant for the group's own network, and for what hosts need to be on it.
func TestSite_meansWhatIsOutside(t *testing.T) {
	t.Parallel()
	g, in := NewWithT(t), dualGroup()
	in.Relayed = netip.MustParseAddr("172.19.0.9")
	network := drawAt(t, topology.Site{
		Denied: prefixes("0.0.0.0/0", "::/0"), Shared: prefixes("10.0.0.0/8", "10.10.10.128/25", "fd10::/64"),
		Underlay: []netip.Addr{netip.MustParseAddr("172.18.0.5"), netip.MustParseAddr("fd18::5")},
	}, in, dualMember("a", "10.10.10.2", "172.18.0.105/24", "fd10::2", "fd18::105/64"))
	fitTogether(g, network)
	rows := network.Rows()
	relay, _ := network.Relay("dpu-a")
	for kind, c := range map[string]struct{ in, out []string }{
		"denied-ip4": {[]string{"10.10.9.255", "10.10.11.0", "172.18.0.1", "0.0.0.0", "8.8.8.8", "255.255.255.254"}, []string{"10.10.10.0", "10.10.10.255", "255.255.255.255", relay.Address.String()}},
		"denied-ip6": {[]string{"fd10:0:0:1::", "fd18::1", "2001:db8::1"}, []string{"fd10::1", "fd10::ffff:ffff:ffff:ffff", "fe80::1", "ff02::1"}},
		"shared-ip4": {[]string{"10.0.0.1", "10.10.11.1"}, []string{"10.10.10.200", "11.0.0.1"}},
	} {
		found := set(t, rows, kind)
		for _, address := range c.in {
			g.Expect(contains(found, address)).To(BeTrue(), "%s in %s", address, kind)
		}
		for _, address := range c.out {
			g.Expect(contains(found, address)).To(BeFalse(), "%s in %s", address, kind)
		}
		size := 0.0
		for i, p := range found {
			size += 1 / float64(uint64(1)<<min(p.Bits(), 62))
			for _, other := range found[:i] {
				g.Expect(p.Overlaps(other)).To(BeFalse())
			}
		}
		g.Expect(size).To(BeNumerically("<", 1))
	}
	g.Expect(set(t, rows, "underlay-ip4")).To(Equal(prefixes("172.18.0.5/32")))
	g.Expect(set(t, rows, "underlay-ip6")).To(Equal(prefixes("fd18::5/128")))

	hosts, _ := portGroup(rows, "hosts")
	name := func(kind string) string { return "$" + find[*nbdb.AddressSet](t, rows, "address-set-"+kind).Name }
	g.Expect(acls(network, "denied-")).To(Equal([]string{
		"1900 from-lport drop inport == @" + hosts + " && (ip4.dst == " + name("denied-ip4") + " || ip6.dst == " + name("denied-ip6") + ")",
		"1900 to-lport drop outport == @" + hosts + " && (ip4.src == " + name("denied-ip4") + " || ip6.src == " + name("denied-ip6") + ")",
	}))
	g.Expect(acls(network, "shared-")).To(Equal([]string{
		"2000 from-lport allow-related inport == @" + hosts + " && (ip4.dst == " + name("shared-ip4") + ")",
	}))
	g.Expect(acls(network, "underlay/")).To(Equal([]string{
		`1002 to-lport drop outport == "ps-a_fabric" && (ip4.dst == ` + name("underlay-ip4") + " || ip6.dst == " + name("underlay-ip6") + ")",
	}))
}

// A site without anything, or with what only concerns the other IP version, costs nothing.
func TestSite_isLeftOut(t *testing.T) {
	t.Parallel()
	g, in, m := NewWithT(t), group("10.10.10.0/24", "10.10.10.1"), member("a", "10.10.10.2", "172.18.0.105/24")
	six := topology.Site{Denied: prefixes("::/0"), Shared: prefixes("fd19::/64", "10.10.10.0/24"), Underlay: []netip.Addr{netip.MustParseAddr("fd18::5")}}
	g.Expect(drawAt(t, six, in, m).Rows()).To(Equal(draw(t, in, m).Rows()))
}

// What a DPU merely says of itself is kept from the hosts behind it, and from no other.
func TestGuard_keepsAMemberFromWhatItsDPUSays(t *testing.T) {
	t.Parallel()
	g, in := NewWithT(t), dualGroup()
	a, b := dualMember("a", "10.10.10.2", "172.18.0.105/24", "fd10::2", "fd18::105/64"), member("b", "10.10.10.3", "172.18.0.106/24")
	a.DPUAddresses = []netip.Addr{netip.MustParseAddr("10.200.0.2"), netip.MustParseAddr("fd20::5"), netip.MustParseAddr("172.20.0.7"), {}}
	network := draw(t, in, a, b)
	fitTogether(g, network)
	g.Expect(acls(network, "unproven/")).To(Equal([]string{
		`1002 to-lport drop outport == "ps-a_fabric" && (ip4.dst == {10.200.0.2, 172.20.0.7} || ip6.dst == {fd20::5})`,
	}))
	g.Expect(acls(network, "underlay/")).To(BeEmpty())
}

// Where networks are made, and where public addresses are announced to, hosts have no business, but for what the operator shares.
func TestSite_guardsItsControlPlane(t *testing.T) {
	t.Parallel()
	g, in := NewWithT(t), dualGroup()
	addresses := func(texts ...string) (all []netip.Addr) {
		for _, text := range texts {
			all = append(all, netip.MustParseAddr(text))
		}
		return all
	}
	network := drawAt(t, topology.Site{
		Underlay: addresses("172.18.0.5", "172.18.0.6"), DPUs: prefixes("172.20.0.0/24"), Shared: prefixes("172.22.0.0/24"),
		ControlPlane: addresses("172.18.0.2", "172.18.0.5", "172.20.0.9", "172.22.0.9", "fd18::2"), Routers: addresses("172.18.0.1", "172.22.0.1"),
	}, in, dualMember("a", "10.10.10.2", "172.18.0.105/24", "fd10::2", "fd18::105/64"))
	fitTogether(g, network)
	g.Expect(set(t, network.Rows(), "underlay-ip4")).To(ConsistOf(prefixes("172.18.0.2/32", "172.18.0.5/32", "172.18.0.6/32", "172.20.0.0/24")), "each once")
	g.Expect(set(t, network.Rows(), "underlay-ip6")).To(ConsistOf(prefixes("fd18::2/128")))
	g.Expect(set(t, network.Rows(), "routers-ip4")).To(ConsistOf(prefixes("172.18.0.1/32")))
	g.Expect(acls(network, "bgp/")).To(Equal([]string{
		`1002 to-lport drop outport == "ps-a_fabric" && (ip4.dst == $` + find[*nbdb.AddressSet](t, network.Rows(), "address-set-routers-ip4").Name +
			") && tcp.dst == 179",
	}))
}
