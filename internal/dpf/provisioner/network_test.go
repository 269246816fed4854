package provisioner

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/fabric/namespace"
)

// inside runs a test in a namespace that has a link pf0.
func inside(t *testing.T, test func(*WithT, *record, netlink.Link)) {
	t.Helper()
	fabrictest.Require(t)
	name := fabric.RandomPrefix("hz")
	t.Cleanup(func() { NewWithT(t).Expect(namespace.Remove(name)).To(Succeed()) })
	g := NewWithT(t)
	g.Expect(namespace.Create(name)).To(Succeed())
	r := &record{path: filepath.Join(t.TempDir(), "made.json")}
	g.Expect(namespace.Do(name, func() error {
		g.Expect(netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "pf0"}, PeerName: "dpu"})).To(Succeed())
		peer, err := netlink.LinkByName("dpu")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(netlink.LinkSetUp(peer)).To(Succeed())
		link, err := netlink.LinkByName("pf0")
		g.Expect(err).NotTo(HaveOccurred())
		test(g, r, link)
		return nil
	})).To(Succeed())
}

func addresses(g *WithT, link netlink.Link) (found []string) {
	all, err := netlink.AddrList(link, netlink.FAMILY_ALL)
	g.Expect(err).NotTo(HaveOccurred())
	for _, a := range all {
		if a.Scope == unix.RT_SCOPE_UNIVERSE {
			found = append(found, a.IPNet.String())
		}
	}
	return found
}

func wanted(address, gateway string, to ...string) Wanted {
	w := Wanted{Link: "pf0", Address: netip.MustParsePrefix(address)}
	for _, each := range to {
		w.Routes = append(w.Routes, Route{To: netip.MustParsePrefix(each), Gateway: netip.MustParseAddr(gateway)})
	}
	return w
}

func routes(g *WithT) (found []string) {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		all, err := netlink.RouteListFiltered(family, &netlink.Route{Protocol: protocol}, netlink.RT_FILTER_PROTOCOL)
		g.Expect(err).NotTo(HaveOccurred())
		for _, each := range all {
			found = append(found, route{each}.String())
		}
	}
	return found
}

func up(g *WithT) bool {
	link, err := netlink.LinkByName("pf0")
	g.Expect(err).NotTo(HaveOccurred())
	return link.Attrs().RawFlags&unix.IFF_UP != 0
}

func TestApply_bothIPVersions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		first, second Wanted
		routes        [2]string
	}{
		{wanted("10.0.96.10/24", "10.0.96.254", "10.0.96.0/20"), wanted("10.0.96.11/24", "10.0.96.253", "10.0.96.0/20"),
			[2]string{"10.0.96.0/20 metric 0 by 10.0.96.254", "10.0.96.0/20 metric 0 by 10.0.96.253"}},
		{wanted("fd00:1::a/64", "fd00:1::fe", "fd00::/16"), wanted("fd00:1::b/64", "fd00:1::fd", "fd00::/16"),
			[2]string{"fd00::/16 metric 1024 by fd00:1::fe", "fd00::/16 metric 1024 by fd00:1::fd"}},
	} {
		inside(t, func(g *WithT, r *record, link netlink.Link) {
			for range 2 {
				g.Expect(r.apply(row.first)).To(Succeed())
				g.Expect(addresses(g, link)).To(HaveExactElements(row.first.Address.String()))
				g.Expect(routes(g)).To(HaveExactElements(row.routes[0]))
			}
			g.Expect(r.apply(row.second)).To(Succeed())
			g.Expect(addresses(g, link)).To(HaveExactElements(row.second.Address.String()))
			g.Expect(routes(g)).To(HaveExactElements(row.routes[1]))
			g.Expect(up(g)).To(BeTrue())
			g.Expect(r.apply(Wanted{})).To(Succeed())
			g.Expect(addresses(g, link)).To(BeEmpty())
			g.Expect(routes(g)).To(BeEmpty())
			g.Expect(up(g)).To(BeFalse(), "as it was before")
			g.Expect(r.load()).To(BeEmpty())
		})
	}
}

// Without promote_secondaries the kernel removes all addresses of a network with the first one.
func TestApply_keepsOtherAddressesOfTheSameNetwork(t *testing.T) {
	t.Parallel()
	inside(t, func(g *WithT, r *record, link netlink.Link) {
		g.Expect(os.WriteFile(promotion("all"), []byte("0"), 0o600)).To(Succeed())
		g.Expect(r.apply(wanted("10.0.96.10/24", "10.0.96.254", "10.0.96.0/20"))).To(Succeed())
		other, err := netlink.ParseAddr("10.0.96.99/24")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(netlink.AddrAdd(link, other)).To(Succeed())
		g.Expect(r.apply(Wanted{})).To(Succeed())
		g.Expect(addresses(g, link)).To(HaveExactElements("10.0.96.99/24"))
		g.Expect(up(g)).To(BeTrue(), "it is in use")
	})
}

// What was there before isn't ours, although the configuration wants it too.
func TestApply_takesNothingAwayThatWasThereBefore(t *testing.T) {
	t.Parallel()
	inside(t, func(g *WithT, r *record, link netlink.Link) {
		g.Expect(netlink.LinkSetUp(link)).To(Succeed())
		other, err := netlink.ParseAddr("10.0.96.10/24")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(netlink.AddrAdd(link, other)).To(Succeed())
		g.Expect(r.apply(wanted("10.0.96.10/24", "10.0.96.254", "10.0.96.0/20"))).To(Succeed())
		g.Expect(r.load()).To(BeEmpty())
		g.Expect(r.apply(Wanted{})).To(Succeed())
		g.Expect(addresses(g, link)).To(HaveExactElements("10.0.96.10/24"))
		g.Expect(up(g)).To(BeTrue())
	})
}

// A record that can't be read says nothing of what is ours.
func TestApply_withoutItsRecordTakesNothingAway(t *testing.T) {
	t.Parallel()
	inside(t, func(g *WithT, r *record, link netlink.Link) {
		g.Expect(r.apply(wanted("10.0.96.10/24", "10.0.96.254"))).To(Succeed())
		g.Expect(os.WriteFile(r.path, []byte("{"), 0o600)).To(Succeed())
		g.Expect(r.apply(Wanted{})).To(MatchError(ContainSubstring("read the record of what was made here")))
		g.Expect(addresses(g, link)).To(HaveExactElements("10.0.96.10/24"))
	})
}

// IPv6 has an address once on a link, whatever its prefix: with another one the gateway may be unreachable.
func TestApply_saysThatAnAddressIsThereWithAnotherPrefix(t *testing.T) {
	t.Parallel()
	inside(t, func(g *WithT, r *record, link netlink.Link) {
		g.Expect(netlink.LinkSetUp(link)).To(Succeed())
		other, err := netlink.ParseAddr("fd00:1::a/128")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(netlink.AddrAdd(link, other)).To(Succeed())
		g.Expect(r.apply(wanted("fd00:1::a/64", "fd00:1::fe"))).To(MatchError(
			"the address fd00:1::a is on pf0 already, with another prefix than that of fd00:1::a/64: delete it"))
		g.Expect(r.load()).To(BeEmpty())
		g.Expect(r.apply(Wanted{})).To(Succeed())
		g.Expect(addresses(g, link)).To(HaveExactElements("fd00:1::a/128"))
	})
}

// Others may use a link without an address: as a port of a bridge or a bond, under a VLAN, or by a route of their own.
func TestApply_takesNoLinkDownThatOthersUse(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(*WithT, netlink.Link){
		"a bridge": func(g *WithT, link netlink.Link) {
			bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br"}}
			g.Expect(netlink.LinkAdd(bridge)).To(Succeed())
			g.Expect(netlink.LinkSetMaster(link, bridge)).To(Succeed())
		},
		"a VLAN": func(g *WithT, link netlink.Link) {
			g.Expect(netlink.LinkAdd(&netlink.Macvlan{LinkAttrs: netlink.LinkAttrs{Name: "over", ParentIndex: link.Attrs().Index}})).To(Succeed())
		},
		"a route": func(g *WithT, link netlink.Link) {
			g.Expect(netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(netip.MustParsePrefix("192.0.2.0/24")), Scope: unix.RT_SCOPE_LINK})).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inside(t, func(g *WithT, r *record, link netlink.Link) {
				g.Expect(r.apply(wanted("10.0.96.10/24", "10.0.96.254", "10.0.96.0/20"))).To(Succeed())
				use(g, link)
				g.Expect(r.apply(Wanted{})).To(Succeed())
				g.Expect(up(g)).To(BeTrue(), "it is in use")
				g.Expect(addresses(g, link)).To(BeEmpty())
				g.Expect(r.load()).To(BeEmpty())
			})
		})
	}
}

// A link that was renamed is still the one that it was; one that was made again isn't.
func TestApply_takesBackFromARenamedLink(t *testing.T) {
	t.Parallel()
	inside(t, func(g *WithT, r *record, link netlink.Link) {
		g.Expect(r.apply(wanted("10.0.96.10/24", "10.0.96.254", "10.0.96.0/20"))).To(Succeed())
		g.Expect(netlink.LinkSetDown(link)).To(Succeed())
		g.Expect(netlink.LinkSetName(link, "ens1f0np0")).To(Succeed())
		g.Expect(netlink.LinkSetUp(link)).To(Succeed())
		g.Expect(r.apply(wanted("10.0.96.10/24", "10.0.96.254"))).To(MatchError("there is no interface pf0 on this node"))
		g.Expect(r.apply(Wanted{})).To(Succeed())
		g.Expect(addresses(g, link)).To(BeEmpty())
		g.Expect(r.load()).To(BeEmpty())
	})
}

// With the last address of IPv4 the kernel takes all routes of the link, also those that were there before.
func TestApply_keepsTheRoutesOfOthers(t *testing.T) {
	t.Parallel()
	inside(t, func(g *WithT, r *record, link netlink.Link) {
		g.Expect(netlink.LinkSetUp(link)).To(Succeed())
		add := func(to, gateway string) {
			route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(netip.MustParsePrefix(to))}
			if gateway == "" && route.Dst.IP.To4() != nil {
				route.Scope = unix.RT_SCOPE_LINK
			} else if gateway != "" {
				route.Gw = netip.MustParseAddr(gateway).AsSlice()
			}
			g.Expect(netlink.RouteAdd(route)).To(Succeed())
		}
		add("192.0.2.0/24", "")
		add("198.51.100.0/24", "192.0.2.1")
		add("2001:db8::/64", "")
		g.Expect(r.apply(wanted("10.0.96.10/24", "10.0.96.254", "10.0.96.0/20"))).To(Succeed())
		add("203.0.113.0/24", "10.0.96.1") // it ends with our network
		g.Expect(r.apply(Wanted{})).To(Succeed())
		others, err := othersRoutes(link)
		g.Expect(err).NotTo(HaveOccurred())
		var to []string
		for _, each := range others {
			to = append(to, each.Dst.String())
		}
		g.Expect(to).To(ConsistOf("192.0.2.0/24", "198.51.100.0/24", "2001:db8::/64"))
		g.Expect(r.load()).To(BeEmpty())
	})
}
