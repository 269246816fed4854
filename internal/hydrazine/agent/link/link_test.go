package link

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// inside runs a test in a network namespace of its own with p0, which has a link, and br, which is up.
func inside(t *testing.T, test func(g *WithT)) {
	t.Helper()
	toolstest.Root(t)
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
				gateways, hops, err := Gateways("br")
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(gateways).To(ConsistOf(netip.MustParseAddr("172.18.0.1"), netip.MustParseAddr("fd00::1")))
				g.Expect(hops).To(ConsistOf(netip.MustParseAddr("172.18.0.9")))
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
		g.Eventually(up, "1m").WithArguments("fabric").Should(BeFalse(), "the host sees that its cable is out")
		g.Expect(Connect("p0")).To(Succeed())
		g.Eventually(up, "1m").WithArguments("p0").Should(BeTrue())
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
		g.Expect(Silence("none")).To(Succeed())
		g.Expect(Unaddressed("none")).To(Succeed())
		g.Expect(Unaddressed("p0")).To(Succeed())
		add(g, "p0", "169.254.7.7/16")
		g.Expect(Unaddressed("p0")).To(MatchError("look at the addresses of p0: it has 169.254.7.7/16: take that away, " +
			"and see that nothing on this DPU puts it back"))
	})
}

// frame is a UDP packet to port 9 of an address, in a frame to an interface.
func frame(to net.HardwareAddr, from, at string) []byte {
	ip := make([]byte, 20)
	ip[0], ip[3], ip[8], ip[9] = 0x45, 28, 64, unix.IPPROTO_UDP
	copy(ip[12:], netip.MustParseAddr(from).AsSlice())
	copy(ip[16:], netip.MustParseAddr(at).AsSlice())
	sum := uint32(0)
	for i := 0; i < len(ip); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
	ethernet := slices.Concat(to, []byte{2, 0, 0, 0, 0, 9}, []byte{0x08, 0x00})
	return slices.Concat(ethernet, ip, []byte{0, 9, 0, 9, 0, 8, 0, 0})
}

// send a frame by an interface.
func send(g *WithT, by string, frame []byte) {
	l, err := netlink.LinkByName(by)
	g.Expect(err).NotTo(HaveOccurred())
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	g.Expect(err).NotTo(HaveOccurred())
	defer unix.Close(socket)
	g.Expect(unix.Sendto(socket, frame, 0, &unix.SockaddrLinklayer{Ifindex: l.Attrs().Index})).To(Succeed())
}

// The kernel takes the larger one of an interface's rp_filter and everybody's. Distributions set that to 2 (loose), by which a source
// that is reached by another interface would do; but not where the interface has no address.
func TestSilence_whateverTheSystemsSettingIs(t *testing.T) {
	t.Parallel()
	for _, loose := range []string{"0", "1", "2"} {
		inside(t, func(g *WithT) {
			add(g, "br", "172.18.0.5/24")
			route(g, "br", "0.0.0.0/0", "172.18.0.1")
			g.Expect(sysctl("ipv4/conf/all/rp_filter", "0")).To(Succeed())
			g.Expect(sysctl("ipv4/conf/p0/rp_filter", "0")).To(Succeed())
			socket, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "172.18.0.5:9")
			g.Expect(err).NotTo(HaveOccurred())
			defer socket.Close()
			mac := func(name string) net.HardwareAddr {
				l, err := netlink.LinkByName(name)
				g.Expect(err).NotTo(HaveOccurred())
				return l.Attrs().HardwareAddr
			}
			heard := func() string {
				g.Expect(socket.SetReadDeadline(time.Now().Add(10 * time.Second))).To(Succeed())
				_, from, err := socket.ReadFrom(make([]byte, 100))
				g.Expect(err).NotTo(HaveOccurred())
				return from.(*net.UDPAddr).IP.String()
			}
			spoofed := []string{"198.51.100.7", "172.18.0.9"}
			for _, source := range spoofed {
				send(g, "fabric", frame(mac("p0"), source, "172.18.0.5"))
				g.Expect(heard()).To(Equal(source), "nothing keeps it out yet")
			}
			g.Expect(Silence("p0")).To(Succeed())
			g.Expect(sysctl("ipv4/conf/all/rp_filter", loose)).To(Succeed())
			for _, source := range spoofed {
				send(g, "fabric", frame(mac("p0"), source, "172.18.0.5"))
				send(g, "other", frame(mac("br"), "172.18.0.1", "172.18.0.5"))
				g.Expect(heard()).To(Equal("172.18.0.1"), "not what came before, with rp_filter %s", loose)
			}
		})
	}
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

// A fabric has several routers: one default route by two of them, two default routes, or none, but one to another network.
func TestGateways_areTheNextHopsOfAllRoutes(t *testing.T) {
	t.Parallel()
	inside(t, func(g *WithT) {
		add(g, "br", "172.18.0.5/24", "fd00::5/64")
		br, err := netlink.LinkByName("br")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(netlink.LinkSetUp(br)).To(Succeed())
		at := br.Attrs().Index
		network := func(text string) *net.IPNet { _, n, _ := net.ParseCIDR(text); return n }
		hop := func(ip string) *netlink.NexthopInfo { return &netlink.NexthopInfo{LinkIndex: at, Gw: net.ParseIP(ip)} }
		for _, r := range []*netlink.Route{
			{Dst: network("0.0.0.0/0"), Priority: 9, LinkIndex: at, Gw: net.ParseIP("172.18.0.3")},
			{Dst: network("0.0.0.0/0"), Priority: 5, MultiPath: []*netlink.NexthopInfo{hop("172.18.0.1"), hop("172.18.0.2")}},
			{Dst: network("0.0.0.0/0"), Priority: 6, LinkIndex: at, Via: &netlink.Via{AddrFamily: netlink.FAMILY_V6, Addr: net.ParseIP("fd00::2")}},
			{Dst: network("10.0.0.0/8"), LinkIndex: at, Gw: net.ParseIP("172.18.0.4")},
			{Dst: network("10.1.0.0/16"), LinkIndex: at, Gw: net.ParseIP("172.18.0.6"), Table: 100},
			{Dst: network("fd01::/64"), LinkIndex: at, MultiPath: []*netlink.NexthopInfo{hop("fd00::1"), hop("fd00::3")}},
		} {
			g.Expect(netlink.RouteAdd(r)).To(Succeed(), r.String())
		}
		gateways, hops, err := Gateways("br")
		g.Expect(err).NotTo(HaveOccurred())
		of := func(texts ...string) (all []netip.Addr) {
			for _, text := range texts {
				all = append(all, netip.MustParseAddr(text))
			}
			return all
		}
		g.Expect(gateways).To(Equal(of("172.18.0.1", "172.18.0.2", "fd00::2", "172.18.0.3")))
		g.Expect(hops).To(ConsistOf(of("172.18.0.4", "172.18.0.6", "fd00::1", "fd00::3")))
		gateways, hops, err = Gateways("p0")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(append(gateways, hops...)).To(BeEmpty())
	})
}
