package overlay_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// mark is in each packet of the hostile host, other than DHCP.
var mark = []byte("this is of the other tenant")

var everybody = net.HardwareAddr{255, 255, 255, 255, 255, 255}

// villain is a hostile host, which sends frames as it likes.
type villain struct {
	socket           int
	own, gateway     net.HardwareAddr
	ip               netip.Addr
	neighbor, victim seat // in its own network, and in another one
	sent             atomic.Int64
}

func (s *siege) newVillain(host, ip, neighbor, victim string) *villain {
	v := &villain{own: s.seat(host).host.MAC, ip: netip.MustParseAddr(ip), neighbor: s.seat(neighbor), victim: s.seat(victim)}
	v.gateway = s.neighbor(host, netip.MustParseAddr("10.10.10.1"))
	v.socket = s.rawSocket(host, "eth0")
	s.t.Cleanup(func() { _ = unix.Close(v.socket) })
	return v
}

func (v *villain) send(frame []byte) {
	if _, err := unix.Write(v.socket, frame); err == nil {
		v.sent.Add(1)
	}
}

// udp frame, whose checksum is left out.
func (v *villain) udp(from, to net.HardwareAddr, source, destination netip.AddrPort, ttl int, payload []byte) []byte {
	header := ipv4.Header{
		Version: ipv4.Version, Len: ipv4.HeaderLen, TotalLen: ipv4.HeaderLen + 8 + len(payload), TTL: ttl, Protocol: unix.IPPROTO_UDP,
		Src: source.Addr().AsSlice(), Dst: destination.Addr().AsSlice(),
	}
	text, _ := header.Marshal() // it is well formed
	binary.BigEndian.PutUint16(text[2:], uint16(header.TotalLen))
	binary.BigEndian.PutUint16(text[10:], checksum(text))
	frame := append(bytes.Join([][]byte{to, from, {8, 0}}, nil), text...)
	for _, field := range []uint16{source.Port(), destination.Port(), uint16(8 + len(payload)), 0} {
		frame = binary.BigEndian.AppendUint16(frame, field)
	}
	return append(frame, payload...)
}

// arp says that an address is at an Ethernet address.
func (v *villain) arp(mac net.HardwareAddr, address netip.Addr) []byte {
	frame := bytes.Join([][]byte{everybody, mac, {8, 6, 0, 1, 8, 0, 6, 4, 0, 2}, mac, address.AsSlice(), everybody, address.AsSlice(), mark}, nil)
	return frame
}

// packets are some of all kinds that a host shouldn't send, and some that it may: 15 times as many as it rests in tenths of a second.
func (v *villain) packets(_ context.Context, random *rand.Rand) {
	victim, near := netip.MustParseAddr("10.10.10.2"), netip.MustParseAddr("10.10.10.3")
	port := func(a netip.Addr) netip.AddrPort { return netip.AddrPortFrom(a, uint16(1024+random.IntN(60000))) }
	for range 15 {
		own, mac, ttl := port(v.ip), v.own, 64
		to, destination := v.neighbor.host.MAC, port(near)
		switch random.IntN(8) {
		case 0: // as another tenant's host
			mac, own, to = v.victim.host.MAC, port(victim), everybody
		case 1:
			own, to = port(victim), v.victim.host.MAC
		case 2: // to another tenant's host
			to = v.victim.host.MAC
		case 3: // what the gateway has to answer itself
			to, destination, ttl = v.gateway, port(netip.MustParseAddr("172.19.0.10")), 1
		case 4: // what makes the gateway ask
			to, destination = v.gateway, port(netip.AddrFrom4([4]byte{172, 18, 0, byte(150 + random.IntN(100))}))
		case 5: // all of its own network
			to, destination = everybody, port(netip.MustParseAddr("10.10.10.255"))
		case 6:
			v.send(v.arp([]net.HardwareAddr{v.own, v.victim.host.MAC}[random.IntN(2)], victim))
			continue
		case 7: // noise
			destination = port(netip.AddrFrom4([4]byte{byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32()), 1}))
		}
		v.send(v.udp(mac, to, own, destination, ttl, mark))
	}
}

// requests are DHCP's, as many clients, more often than a host may, some of them spoilt.
func (v *villain) requests(_ context.Context, random *rand.Rand) {
	kinds := []dhcpv4.MessageType{
		dhcpv4.MessageTypeDiscover, dhcpv4.MessageTypeRequest, dhcpv4.MessageTypeDecline, dhcpv4.MessageTypeRelease, dhcpv4.MessageTypeInform,
	}
	mac := net.HardwareAddr{2, 0xbb, 0, 0, byte(random.Uint32()), byte(random.Uint32())}
	if random.IntN(2) == 0 {
		mac = v.victim.host.MAC
	}
	m, err := dhcpv4.New(dhcpv4.WithMessageType(kinds[random.IntN(len(kinds))]), dhcpv4.WithHwAddr(mac),
		dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.IPv4(10, 10, 10, byte(random.Uint32())))),
		dhcpv4.WithGeneric(dhcpv4.OptionClientIdentifier, binary.BigEndian.AppendUint64(nil, random.Uint64())))
	if err != nil {
		return
	}
	text := m.ToBytes()
	if random.IntN(5) == 0 {
		text = text[:random.IntN(len(text))]
	}
	v.send(v.udp(v.own, everybody, netip.MustParseAddrPort("0.0.0.0:68"), netip.MustParseAddrPort("255.255.255.255:67"), 64, text))
}

// sniffed is what tenants' hosts hear that they shouldn't, and what they should.
type sniffed struct {
	across   map[string]*atomic.Int64 // must stay at 0
	controls map[string]*atomic.Int64 // mustn't
}

// sniff at all hosts of two tenants.
func (s *siege) sniff(one, other []string) sniffed {
	found := sniffed{map[string]*atomic.Int64{}, map[string]*atomic.Int64{}}
	macs := func(hosts []string) (all [][]byte) {
		for _, host := range hosts {
			all = append(all, s.seat(host).host.MAC)
		}
		return all
	}
	at := func(host string, of [][]byte, kind func(frame []byte) bool) *atomic.Int64 {
		return countFrames(s.t, s.Fabric, host, "eth0", unix.SOCK_RAW, func(frame []byte) bool {
			for _, mac := range of {
				if len(frame) > 12 && bytes.Equal(frame[6:12], mac) {
					return true
				}
			}
			return kind != nil && kind(frame)
		})
	}
	marked := func(frame []byte) bool { return bytes.Contains(frame, mark) }
	for _, host := range one {
		found.across["the other's at "+host] = at(host, macs(other), marked)
	}
	for _, host := range other {
		found.across["the first's at "+host] = at(host, macs(one), nil)
	}
	found.controls["its own at "+one[0]] = at(one[0], macs(one[1:]), nil)
	found.controls["marks at "+other[1]] = at(other[1], nil, marked)
	return found
}

func (f sniffed) expect(g Gomega) {
	for where, count := range f.across {
		g.Expect(count.Load()).To(BeZero(), where)
	}
	for where, count := range f.controls {
		g.Expect(count.Load()).NotTo(BeZero(), where)
	}
}
