package relay

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"
	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/soaktest"
)

// TestHostile_soak is a host that sends whatever it likes, for some seconds, or for as long as BEDPLATE_HOSTILE says, such as 1h,
// with the seed in BEDPLATE_SEED, or any. The relay's clock continues with each frame, so that an hour of it is over in about
// half a minute. The host is few clients to the server, its neighbour is always heard, and memory is bounded.
func TestHostile_soak(t *testing.T) { //nolint:paralleltest // it measures memory
	const growth = 2 << 20
	g := NewWithT(t)
	last, seed := soaktest.Options(t, 2*time.Second)
	h := &hostile{
		WithT: g, Rand: rand.New(rand.NewPCG(seed, 0)), now: noon,
		four: &v4{settings4, newHosts(present)}, six: &v6{settings6, newHosts(present)},
		madeUp4: &v4{settings4, newHosts(nil)}, madeUp6: &v6{settings6, newHosts(nil)},
		clients: map[string]bool{}, identities: map[identity]bool{},
	}
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	frames := 0
	round := func(until time.Time) {
		for time.Now().Before(until) {
			for range 1000 {
				h.step()
				frames++
			}
			h.neighbour()
		}
	}
	round(time.Now().Add(200 * time.Millisecond)) // what is made once
	before := heap()
	for ends := time.Now().Add(last); time.Now().Before(ends); {
		round(time.Now().Add(min(time.Until(ends), time.Minute)))
		h.clear() // what the test itself remembers
		g.Expect(heap()).To(BeNumerically("<", before+growth), "seed %d", seed)
	}
	t.Logf("%d frames, %d of them passed on, in %s of the relay's time; %d identities; the heap has grown by %d bytes",
		frames, h.passed, h.now.Sub(noon).Round(time.Second), h.fresh, int64(heap())-int64(before))
	hours := h.now.Sub(noon).Hours()
	g.Expect(h.fresh).To(BeNumerically("<=", newIdentities+int(hours*2)+1))
}

// hostile is a host that also invents hosts, where the relay doesn't know the real ones.
type hostile struct {
	*WithT
	*rand.Rand
	now           time.Time
	four, madeUp4 *v4
	six, madeUp6  *v6
	clients       map[string]bool // as the server knows them, of DHCPv4
	identities    map[identity]bool
	passed, fresh int
}

func (h *hostile) bytes(most int) []byte {
	random := make([]byte, h.IntN(most+1))
	for i := range random {
		random[i] = byte(h.Uint32())
	}
	return random
}

// step is one frame, to a relay that knows the host, and to one that doesn't.
func (h *hostile) step() {
	h.now = h.now.Add(time.Duration(h.IntN(100)) * time.Millisecond)
	mac := MAC{2, 0xbb, byte(h.Uint32()), byte(h.Uint32()), byte(h.Uint32()), byte(h.Uint32())}
	_, _ = h.madeUp4.request(h.spoil(h.asks4(mac)), h.now)
	_, _ = h.madeUp6.request(h.spoil(h.asks6(mac)), h.now)
	h.Expect(len(h.madeUp4.hosts.all)).To(BeNumerically("<=", maxHosts))
	h.Expect(len(h.madeUp6.hosts.all)).To(BeNumerically("<=", maxHosts))

	if out, err := h.four.request(h.spoil(h.asks4(hostMAC)), h.now); err == nil {
		h.passed++
		m, err := dhcpv4.FromBytes(out)
		h.Expect(err).NotTo(HaveOccurred())
		h.clients[string(m.Options.Get(dhcpv4.OptionClientIdentifier))+string(m.ClientHWAddr)] = true
		m.OpCode = dhcpv4.OpcodeBootReply
		_, _ = h.four.answer(h.spoil(m.ToBytes()), settings4.Server)
	}
	if out, err := h.six.request(h.spoil(h.asks6(hostMAC)), h.now); err == nil {
		h.passed++
		m, err := dhcpv6.RelayMessageFromBytes(out)
		h.Expect(err).NotTo(HaveOccurred())
		ids, err := identities(m.Options.RelayMessage().(*dhcpv6.Message))
		h.Expect(err).NotTo(HaveOccurred())
		for _, id := range ids {
			if !h.identities[id] {
				h.identities[id] = true
				h.fresh++
			}
		}
		out[0] = byte(dhcpv6.MessageTypeRelayReply)
		_, _ = h.six.answer(h.spoil(out), settings6.Server)
	}
	for _, hosts := range []*hosts{h.four.hosts, h.six.hosts} {
		h.Expect(len(hosts.all)).To(BeNumerically("<=", 3), "the host, by the router too, and its neighbour")
		for _, host := range hosts.all {
			h.Expect(len(host.identities)).To(BeNumerically("<=", maxIdentities))
		}
	}
	h.Expect(len(h.clients)).To(BeNumerically("<=", 2), "the host and its neighbour")
}

// neighbour asks now and then, and is always heard.
func (h *hostile) neighbour() {
	h.now = h.now.Add(time.Second)
	d := broadcast(ask(dhcpv4.MessageTypeDiscover, dhcpv4.WithHwAddr(otherMAC[:])))
	d.fromMAC = otherMAC
	_, err := h.four.request(d.frame(), h.now)
	h.Expect(err).NotTo(HaveOccurred())
	six := ask6(message6(dhcpv6.MessageTypeSolicit, called(&dhcpv6.DUIDLL{HWType: 1, LinkLayerAddr: otherMAC[:]}), lease(1)).ToBytes())
	six.fromMAC, six.from = otherMAC, netip.AddrPortFrom(linkLocal(otherMAC), 546)
	_, err = h.six.request(six.frame(), h.now)
	h.Expect(err).NotTo(HaveOccurred())
}

func (h *hostile) asks4(mac MAC) []byte {
	kinds := []dhcpv4.MessageType{
		dhcpv4.MessageTypeDiscover, dhcpv4.MessageTypeRequest, dhcpv4.MessageTypeDecline, dhcpv4.MessageTypeRelease, dhcpv4.MessageTypeInform,
	}
	m := ask(kinds[h.IntN(len(kinds))], dhcpv4.WithHwAddr(mac[:]), dhcpv4.WithGeneric(dhcpv4.OptionClientIdentifier, h.bytes(300)),
		dhcpv4.WithOption(dhcpv4.OptHostName(string(h.bytes(200)))))
	if h.IntN(2) == 0 {
		ciaddr(m)
	}
	if h.IntN(4) == 0 {
		m.UpdateOption(dhcpv4.OptRequestedIPAddress([]byte{10, 10, 10, byte(h.Uint32())}))
	}
	if h.IntN(4) == 0 {
		return renewal(m, gatewayMAC).frame()
	}
	d := broadcast(m)
	d.fromMAC = mac
	return d.frame()
}

func (h *hostile) asks6(mac MAC) []byte {
	kinds := []dhcpv6.MessageType{
		dhcpv6.MessageTypeSolicit, dhcpv6.MessageTypeRequest, dhcpv6.MessageTypeConfirm, dhcpv6.MessageTypeRenew, dhcpv6.MessageTypeRebind,
		dhcpv6.MessageTypeRelease, dhcpv6.MessageTypeDecline, dhcpv6.MessageTypeInformationRequest,
	}
	m := message6(kinds[h.IntN(len(kinds))], called(&dhcpv6.DUIDOpaque{Type: 77, Data: h.bytes(130)}))
	binary.BigEndian.PutUint16(m.TransactionID[:], uint16(h.Uint32()))
	for range h.IntN(4) {
		lease(byte(h.Uint32()), "fd10::2", "fd10::3")(m)
	}
	d := ask6(m.ToBytes())
	d.fromMAC, d.from = mac, netip.AddrPortFrom(linkLocal(mac), 546)
	return d.frame()
}

// spoil two of five messages.
func (h *hostile) spoil(message []byte) []byte {
	switch h.IntN(5) {
	case 0:
		return message[:h.IntN(len(message)+1)]
	case 1:
		message[h.IntN(len(message))] ^= byte(1 << h.IntN(8))
	}
	return message
}

// clear what the test remembers. Known hosts stay known to the relay, and aren't counted again.
func (h *hostile) clear() {
	kept := map[identity]bool{}
	for _, host := range h.six.hosts.all {
		for id := range host.identities {
			kept[id] = h.identities[id]
		}
	}
	h.identities = kept
}
