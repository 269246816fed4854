package relay

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

var (
	hostMAC    = MAC{2, 0, 10, 10, 10, 2}
	otherMAC   = MAC{2, 0, 10, 10, 10, 3}
	gatewayMAC = MAC{2, 0xaa, 0, 0, 0, 1}
	hostIP     = netip.MustParseAddr("10.10.10.2")
	identifier = netip.MustParseAddr("172.18.0.30") // as the server calls itself

	// hostLink is the host's address of the link.
	hostLink = netip.MustParseAddr("fe80::aff:fe0a:a02")
	hostIPv6 = netip.MustParseAddr("fd10::2")

	// noon is when everything happens.
	noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

	settings4 = Settings{
		Interface: "relay-red", MAC: MAC{2, 0xfe, 0, 0, 0, 5}, Address: netip.MustParseAddr("169.254.128.5"),
		Server: netip.MustParseAddr("172.18.0.3"), LinkAddress: netip.MustParseAddr("10.10.10.1"),
		Underlay: netip.MustParseAddr("172.18.0.5"), MTU: 1442, Largest: 1440,
	}
	settings6 = Settings{
		Interface: "relay-red", MAC: MAC{2, 0xfe, 0, 0, 0, 5},
		Server: netip.MustParseAddr("fd00::3"), LinkAddress: netip.MustParseAddr("fd10::1"),
		Underlay: netip.MustParseAddr("fd00::5"), MTU: 1422, Largest: 1420,
	}
)

// present are the host and a neighbour behind the same DPU, as the controller says.
func present() map[MAC][]netip.Addr {
	return map[MAC][]netip.Addr{hostMAC: {hostIP, hostIPv6}, otherMAC: {netip.MustParseAddr("10.10.10.3"), netip.MustParseAddr("fd10::3")}}
}

func TestParseMAC(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	mac, err := ParseMAC("02:FE:00:00:00:05")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mac).To(Equal(settings4.MAC))
	for _, text := range []string{"", "relay", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "00:00:00:00:00:00", "02:00:00:00:00:00:00:01"} {
		_, err := ParseMAC(text)
		g.Expect(err).To(HaveOccurred(), text)
	}
}

func TestFrame_isReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, ends := range [][2]string{{"10.10.10.2:68", "255.255.255.255:67"}, {"[fe80::2]:546", "[ff02::1:2]:547"}} {
		for _, payload := range []string{"", "odd", "even"} {
			g := NewWithT(t)
			d := datagram{
				fromMAC: hostMAC, toMAC: otherMAC, payload: []byte(payload),
				from: netip.MustParseAddrPort(ends[0]), to: netip.MustParseAddrPort(ends[1]),
			}
			frame := d.frame()
			g.Expect(parse(frame)).To(Equal(d))
			g.Expect(parse(append(frame, 0, 0, 0, 0))).To(Equal(d), "an Ethernet fills short frames up")
			for cut := range len(frame) {
				_, err := parse(frame[:cut])
				g.Expect(err).To(HaveOccurred(), "cut off after %d", cut)
			}
		}
	}
}

func TestFrame_checksums(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := datagram{
		from: netip.MustParseAddrPort("10.10.10.2:68"), to: netip.MustParseAddrPort("10.10.10.3:67"), payload: []byte("odd"),
	}.frame()
	ip, udp := f[ethernetHeader:ethernetHeader+ipv4Header], f[ethernetHeader+ipv4Header:]
	g.Expect(checksum(ip)).To(BeZero())
	pseudo := append(append([]byte{}, ip[12:20]...), 0, protocolUDP, 0, byte(len(udp)))
	g.Expect(checksum(append(pseudo, udp...))).To(BeZero())
}

func TestParse_refuses(t *testing.T) {
	t.Parallel()
	good := datagram{from: netip.MustParseAddrPort("10.10.10.2:68"), to: netip.MustParseAddrPort("10.10.10.3:67"), payload: []byte("x")}
	for name, change := range map[string]func(frame []byte){
		"a tag":                   func(f []byte) { f[12], f[13] = 0x81, 0 },
		"ARP":                     func(f []byte) { f[12], f[13] = 0x08, 0x06 },
		"another version":         func(f []byte) { f[14] = 0x65 },
		"a header that is short":  func(f []byte) { f[14] = 0x44 },
		"a header that is long":   func(f []byte) { f[14] = 0x4f },
		"a fragment":              func(f []byte) { f[21] = 1 },
		"the first of fragments":  func(f []byte) { f[20] = 0x20 },
		"TCP":                     func(f []byte) { f[23] = 6 },
		"more than there is":      func(f []byte) { f[17]++ },
		"a datagram that is long": func(f []byte) { f[39]++ },
		"one that is short":       func(f []byte) { f[39] = 7 },
	} {
		frame := good.frame()
		change(frame)
		_, err := parse(frame)
		NewWithT(t).Expect(err).To(MatchError(errNoDatagram), name)
	}
}

func TestHosts_areBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h, now := newHosts(nil), noon
	for i := range 3 * maxHosts {
		now = now.Add(time.Second)
		_, err := h.ask(question{mac: MAC{2, 0, 0, 0, byte(i >> 8), byte(i)}, transaction: [4]byte{byte(i)}}, now)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(h.all).To(HaveLen(maxHosts))
	last := 3*maxHosts - 1
	_, err := h.answered(MAC{2, 0, 0, 0, byte(last >> 8), byte(last)}, [4]byte{byte(last)}, identifier)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = h.answered(MAC{2, 0, 0, 0, 0, 0}, [4]byte{}, identifier)
	g.Expect(err).To(MatchError(errUnasked), "long forgotten")
}

func TestHosts_areSlowedDown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h := newHosts(nil)
	ask := func(mac MAC, after time.Duration) error {
		_, err := h.ask(question{mac: mac}, noon.Add(after))
		return err
	}
	for range hostBurst {
		g.Expect(ask(hostMAC, 0)).To(Succeed())
	}
	g.Expect(ask(hostMAC, 0)).To(MatchError(errTooMany))
	g.Expect(ask(otherMAC, 0)).To(Succeed(), "another one isn't hindered")
	g.Expect(ask(hostMAC, time.Second)).To(Succeed())

	passed := 0
	for i := range 10 * burst {
		if ask(MAC{4, 0, 0, 0, byte(i >> 8), byte(i)}, time.Second) == nil {
			passed++
		}
	}
	g.Expect(passed).To(BeNumerically("<=", burst), "nor does it help to make up addresses")
	g.Expect(len(h.all)).To(BeNumerically("<=", maxHosts))
}
