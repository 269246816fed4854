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
			HostIP: netip.AddrFrom4([4]byte{10, 10, 10, i}), HostMAC: "02:00:0a:0a:0a:0" + string('0'+rune(i)),
		}
		if fabric > 0 {
			m.FabricIP, m.FabricBits, m.NextHop = netip.AddrFrom4([4]byte{172, 18, 0, fabric}), 24, netip.AddrFrom4([4]byte{172, 18, 0, 1})
		}
		return m
	}
	network, err := topology.New(topology.Group{
		UID: "uid", Name: "blue", Network: netip.MustParsePrefix("10.10.10.0/24"), Gateway: netip.MustParseAddr("10.10.10.1"),
	}, []topology.Member{
		host(2, "web-1", "dpu-1", 105, resourcev1.FabricAccess), host(3, "web-2", "dpu-1", 106, resourcev1.NetworkAccess),
		host(4, "store", "dpu-2", 0, resourcev1.NetworkAccess), host(5, "new", "", 109, resourcev1.FabricAccess),
		host(1, "thief", "dpu-3", 0, resourcev1.NetworkAccess),
	})
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
