package drawing_test

import (
	"encoding/xml"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
	"github.com/bedplate/bedplate/internal/hydrazine/topology/drawing"
)

// example has two hosts on one DPU, one on another without a way out, and one that isn't in.
func example(t *testing.T) *topology.Topology {
	t.Helper()
	host := func(i byte, name, chassis string, fabric byte, access resourcev1.HostAccess) topology.Member {
		m := topology.Member{
			UID: "uid-" + name, Name: name, Created: time.Unix(int64(i), 0), Chassis: chassis, Access: access,
			Addresses: []topology.Address{{HostIP: netip.AddrFrom4([4]byte{10, 10, 10, i})}}, HostMAC: "02:00:0a:0a:0a:0" + string('0'+rune(i)),
		}
		if fabric > 0 {
			a := &m.Addresses[0]
			a.FabricIP, a.FabricBits, a.NextHop = netip.AddrFrom4([4]byte{172, 18, 0, fabric}), 24, netip.AddrFrom4([4]byte{172, 18, 0, 1})
		}
		return m
	}
	network, err := topology.New(topology.Group{
		UID: "uid", Name: "blue",
		Networks: []topology.Network{{Prefix: netip.MustParsePrefix("10.10.10.0/24"), Gateway: netip.MustParseAddr("10.10.10.1")}},
	}, []topology.Member{
		host(2, "web-1", "dpu-1", 105, resourcev1.FabricAccess), host(3, "web-2", "dpu-1", 106, resourcev1.NetworkAccess),
		host(4, "store", "dpu-2", 0, resourcev1.NetworkAccess), host(5, "new", "", 109, resourcev1.FabricAccess),
		host(1, "thief", "dpu-3", 0, resourcev1.NetworkAccess),
	}, topology.Site{})
	if err != nil {
		t.Fatal(err)
	}
	return network
}

func TestText(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	NewWithT(t).Expect(drawing.Text(&b, example(t))).To(Succeed())
	NewWithT(t).Expect("\n" + b.String()).To(Equal(`
blue  10.10.10.0/24
├─ ls-blue  logical switch, on every DPU
│  ├─ web-1_83560d79  10.10.10.2  02:00:0a:0a:0a:02  on dpu-1
│  ├─ web-2_a6dbcdf3  10.10.10.3  02:00:0a:0a:0a:03  on dpu-1
│  ├─ store_1778d8fb  10.10.10.4  02:00:0a:0a:0a:04  on dpu-2
│  └─ new_1b2e37e6  10.10.10.5  02:00:0a:0a:0a:05  on a DPU not known yet
├─ lr-blue  logical router, on every DPU; gateway 10.10.10.1
│  ├─ ts-web-1  169.254.1.8/30 ─ gr-web-1  on dpu-1 ─ ps-web-1 ─ fabric  172.18.0.105/24 via 172.18.0.1
│  │  ├─ SNAT 10.10.10.2 → 172.18.0.105
│  │  └─ DNAT 172.18.0.105 → 10.10.10.2
│  └─ ts-web-2  169.254.1.12/30 ─ gr-web-2  on dpu-1 ─ ps-web-2 ─ fabric  172.18.0.106/24 via 172.18.0.1
│     └─ SNAT 10.10.10.3 → 172.18.0.106
└─ not in: uid-thief, because host address 10.10.10.1 belongs to the gateway
`))
}

// Every name is in the picture once, whatever it is, and the picture is well-formed.
func TestSVG(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var b strings.Builder
	network := example(t)
	network.Members[0].Chassis = `<script>"&`
	g.Expect(drawing.SVG(&b, network)).To(Succeed())
	words := map[string]int{}
	for decoder := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		g.Expect(err).NotTo(HaveOccurred())
		if text, ok := token.(xml.CharData); ok {
			words[string(text)]++
		}
	}
	for _, name := range []string{
		"ResourceGroup blue", "ls-blue", "lr-blue", "web-1", "web-2", "store", "new", "ts-web-1", "gr-web-2", "ps-web-1", `<script>"&`,
		"172.18.0.105/24 via 172.18.0.1", "SNAT 10.10.10.3 → 172.18.0.106", "DNAT 172.18.0.105 → 10.10.10.2", "dpu-2", "a DPU not known yet",
	} {
		g.Expect(words).To(HaveKeyWithValue(name, 1))
	}
	g.Expect(words).NotTo(HaveKey("ts-store"), "it has no way out")
	g.Expect(words).NotTo(HaveKey("DNAT 172.18.0.106 → 10.10.10.3"))
}

// service has all that a network can have.
func service(t *testing.T) *topology.Topology {
	t.Helper()
	group := topology.Group{
		UID: "uid", Name: "blue", Relayed: netip.MustParseAddr("172.19.0.9"),
		Networks: []topology.Network{
			{Prefix: netip.MustParsePrefix("10.10.10.0/24"), Gateway: netip.MustParseAddr("10.10.10.1")},
			{Prefix: netip.MustParsePrefix("fd10::/64"), Gateway: netip.MustParseAddr("fd10::1")},
		},
		SecurityGroups: []resourcev1.SecurityGroup{
			{Name: "web", Rules: []resourcev1.SecurityRule{
				{Direction: "Egress"},
				{Direction: "Ingress", Protocol: "TCP", Ports: []resourcev1.PortRange{{First: 80}, {First: 8000, Last: 8010}}, Prefixes: []resourcev1.IPPrefix{"10.0.0.0/8"}},
			}},
			{Name: "db", Rules: []resourcev1.SecurityRule{{Direction: "Ingress", Protocol: "Any", SecurityGroups: []string{"web", "gone"}}}},
		},
	}
	member := func(name, mac string, groups ...string) topology.Member {
		return topology.Member{UID: "uid-" + name, Name: name, HostMAC: mac, Chassis: "dpu-1", Access: resourcev1.PublicAccess, SecurityGroups: groups}
	}
	web, store := member("web", "02:00:0a:0a:0a:02", "web", "db"), member("store", "02:00:0a:0a:0a:03", "no such")
	web.Addresses = []topology.Address{
		{HostIP: netip.MustParseAddr("10.10.10.2"), FabricIP: netip.MustParseAddr("172.18.0.105"), FabricBits: 24,
			NextHop: netip.MustParseAddr("172.18.0.1"), PublicIP: netip.MustParseAddr("203.0.113.2")},
		{HostIP: netip.MustParseAddr("fd10::2"), FabricIP: netip.MustParseAddr("fd18::105"), FabricBits: 64, PublicIP: netip.MustParseAddr("2001:db8::2")},
	}
	store.Addresses = []topology.Address{{HostIP: netip.MustParseAddr("10.10.10.3")}}
	store.Created = web.Created.Add(time.Second)
	network, err := topology.New(group, []topology.Member{web, store}, topology.Site{
		FabricPrefixes: []netip.Prefix{netip.MustParsePrefix("172.16.0.0/12")}, Denied: []netip.Prefix{netip.MustParsePrefix("172.20.0.0/16")},
		Shared: []netip.Prefix{netip.MustParsePrefix("172.19.0.0/24"), netip.MustParsePrefix("fd19::/64")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return network
}

func TestText_ofAService(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	NewWithT(t).Expect(drawing.Text(&b, service(t))).To(Succeed())
	NewWithT(t).Expect("\n" + b.String()).To(Equal(`
blue  10.10.10.0/24, fd10::/64
├─ ls-blue  logical switch, on every DPU
│  ├─ web_02134b3f  10.10.10.2, fd10::2  02:00:0a:0a:0a:02  on dpu-1  in web, db
│  ├─ store_1778d8fb  10.10.10.3  02:00:0a:0a:0a:03  on dpu-1  in no such
│  └─ relay_789e2ab92c003a7b  169.254.139.124  0e:78:9e:2a:b9:2c  on dpu-1  DHCP relay to 172.19.0.9
├─ lr-blue  logical router, on every DPU; gateway 10.10.10.1, fd10::1
│  └─ ts-web  169.254.1.8/30, fdbe:d91a:7e00::8/126 ─ gr-web  on dpu-1 ─ ps-web ─ fabric  172.18.0.105/24 via 172.18.0.1, fd18::105/64
│     ├─ SNAT 10.10.10.2 → 172.18.0.105 to the fabric
│     ├─ SNAT 10.10.10.2 → 203.0.113.2
│     ├─ DNAT 203.0.113.2 → 10.10.10.2
│     ├─ DNAT 172.18.0.105 → 10.10.10.2
│     ├─ SNAT fd10::2 → 2001:db8::2
│     ├─ DNAT 2001:db8::2 → fd10::2
│     └─ DNAT fd18::105 → fd10::2
├─ security group web
│  ├─ Egress to everybody
│  └─ Ingress TCP 80, 8000-8010 from 10.0.0.0/8
├─ security group db
│  └─ Ingress from web, gone
├─ denied by the site: 172.20.0.0/16
├─ shared by the site: 172.19.0.0/24, fd19::/64
├─ warning: uid: rule 1 of security group "db" names "gone", which doesn't exist: it has no members
└─ warning: uid-store: there is no security group "no such": nothing passes by it
`))
}

func TestSVG_ofAService(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var b strings.Builder
	g.Expect(drawing.SVG(&b, service(t))).To(Succeed())
	g.Expect(xml.Unmarshal([]byte(b.String()), new(any))).To(Succeed())
	for _, words := range []string{
		">10.10.10.2, fd10::2<", ">in web, db<", ">SNAT 10.10.10.2 → 172.18.0.105 to the fabric<", ">DNAT 2001:db8::2 → fd10::2<",
		">172.18.0.105/24 via 172.18.0.1<", ">fd18::105/64<", ">169.254.1.8/30, fdbe:d91a:7e00::8/126<",
	} {
		g.Expect(b.String()).To(ContainSubstring(words))
	}
}
