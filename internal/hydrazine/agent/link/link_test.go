package link

import (
	"net/netip"
	"os"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// inside runs a test in a network namespace of its own with p0, which has a link, and br, which is up.
func inside(t *testing.T, test func(g *WithT)) {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("needs root")
		}
		t.Skip("needs root")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g := NewWithT(t)
	home, err := netns.Get()
	g.Expect(err).NotTo(HaveOccurred())
	defer home.Close()
	own, err := netns.New()
	g.Expect(err).NotTo(HaveOccurred())
	defer own.Close()
	defer func() {
		if err := netns.Set(home); err != nil {
			panic(err) // this thread does anything next
		}
	}()
	g.Expect(netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "p0"}, PeerName: "fabric"})).To(Succeed())
	g.Expect(netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "br"}, PeerName: "other"})).To(Succeed())
	for _, name := range []string{"p0", "fabric", "br", "other"} {
		g.Expect(Connect(name)).To(Succeed())
	}
	test(g)
}

func add(g *WithT, name string, addresses ...string) {
	l, err := netlink.LinkByName(name)
	g.Expect(err).NotTo(HaveOccurred())
	for _, text := range addresses {
		address, err := netlink.ParseAddr(text)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(netlink.AddrReplace(l, address)).To(Succeed())
	}
}

func route(g *WithT, name, to, via string) {
	l, err := netlink.LinkByName(name)
	g.Expect(err).NotTo(HaveOccurred())
	network, err := netlink.ParseIPNet(to)
	g.Expect(err).NotTo(HaveOccurred())
	gateway := netip.MustParseAddr(via).AsSlice()
	g.Expect(netlink.RouteReplace(&netlink.Route{LinkIndex: l.Attrs().Index, Dst: network, Gw: gateway})).To(Succeed())
}

// routers returns which router each route by an interface goes through.
func routers(g *WithT, name string) map[string]string {
	l, err := netlink.LinkByName(name)
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]string{}
	for _, family := range families {
		routes, err := netlink.RouteList(l, family)
		g.Expect(err).NotTo(HaveOccurred())
		for _, r := range routes {
			if r.Gw != nil {
				found[r.Dst.String()] = r.Gw.String()
			}
		}
	}
	return found
}

func TestMoveAddresses(t *testing.T) {
	t.Parallel()
	all := []netip.Prefix{netip.MustParsePrefix("172.18.0.5/24"), netip.MustParsePrefix("fd00::5/64")}
	ways := map[string]string{"0.0.0.0/0": "172.18.0.1", "172.19.0.0/16": "172.18.0.9", "::/0": "fd00::1"}
	for name, interrupted := range map[string]func(g *WithT){
		"for the first time": func(*WithT) {},
		"after the addresses were added": func(g *WithT) {
			add(g, "br", "172.18.0.5/24", "fd00::5/64")
		},
		"after a route was moved": func(g *WithT) {
			add(g, "br", "172.18.0.5/24", "fd00::5/64")
			route(g, "br", "0.0.0.0/0", "172.18.0.1")
		},
		"once more": func(g *WithT) { g.Expect(MoveAddresses("p0", "br")).To(Succeed()) },
		"when the DPU's start has put them back": func(g *WithT) {
			g.Expect(MoveAddresses("p0", "br")).To(Succeed())
			add(g, "p0", "172.18.0.5/24", "fd00::5/64")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inside(t, func(g *WithT) {
				add(g, "p0", "172.18.0.5/24", "fd00::5/64")
				route(g, "p0", "0.0.0.0/0", "172.18.0.1")
				route(g, "p0", "172.19.0.0/16", "172.18.0.9")
				route(g, "p0", "::/0", "fd00::1")
				interrupted(g)
				g.Expect(MoveAddresses("p0", "br")).To(Succeed())
				g.Expect(Addresses("br")).To(ConsistOf(all))
				g.Expect(Addresses("p0")).To(BeEmpty())
				g.Expect(routers(g, "br")).To(Equal(ways))
				g.Expect(routers(g, "p0")).To(BeEmpty())
				g.Expect(Gateways("br")).To(ConsistOf(netip.MustParseAddr("172.18.0.1"), netip.MustParseAddr("fd00::1")))
			})
		})
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	inside(t, func(g *WithT) {
		up := func(name string) bool { l, _, err := Get(name); g.Expect(err).NotTo(HaveOccurred()); return l.Up }
		g.Expect(up("p0")).To(BeTrue())
		g.Expect(Cut("p0")).To(Succeed())
		g.Expect(up("p0")).To(BeFalse())
		g.Eventually(up).WithArguments("fabric").Should(BeFalse(), "the host sees that its cable is out")
		g.Expect(Connect("p0")).To(Succeed())
		g.Eventually(up).WithArguments("p0").Should(BeTrue())
		g.Expect(Cut("none")).To(Succeed())
	})
}

func TestSilence(t *testing.T) {
	t.Parallel()
	inside(t, func(g *WithT) {
		for range 2 {
			g.Expect(Silence("p0")).To(Succeed())
		}
		l, err := netlink.LinkByName("p0")
		g.Expect(err).NotTo(HaveOccurred())
		addresses, err := netlink.AddrList(l, netlink.FAMILY_ALL)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(addresses).To(BeEmpty(), "no link-local address either")
		filter, err := os.ReadFile("/proc/sys/net/ipv4/conf/p0/rp_filter")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(filter)).To(Equal("1\n"))
	})
}

func TestMatch(t *testing.T) {
	t.Parallel()
	inside(t, func(g *WithT) {
		found, err := Match([]string{"p*", "fab?ic"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found).To(HaveLen(2))
		g.Expect(found[0].Name).To(Equal("fabric"))
		g.Expect(found[1].Name).To(Equal("p0"))
		_, ok, err := Get("none")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(ok).To(BeFalse())
	})
}
