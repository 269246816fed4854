package relay

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

const (
	ethernetHeader = 14
	udpHeader      = 8
	typeIPv4       = 0x0800
	typeIPv6       = 0x86dd
	protocolUDP    = 17
	hopLimit       = 64
)

var errNoDatagram = errors.New("it isn't one UDP datagram in one frame")

// datagram is a UDP datagram as it is on an Ethernet.
type datagram struct {
	fromMAC, toMAC MAC
	from, to       netip.AddrPort
	payload        []byte
}

// parse reads a frame. What is in fragments, tagged or has options of IPv6 is refused: no client of DHCP sends it.
func parse(frame []byte) (datagram, error) {
	if len(frame) < ethernetHeader {
		return datagram{}, errNoDatagram
	}
	d := datagram{toMAC: MAC(frame[:6]), fromMAC: MAC(frame[6:12])}
	packet := frame[ethernetHeader:]
	var from, to netip.Addr
	switch binary.BigEndian.Uint16(frame[12:]) {
	case typeIPv4:
		if len(packet) < ipv4Header || packet[0]>>4 != 4 {
			return datagram{}, errNoDatagram
		}
		header, total := int(packet[0]&0xf)*4, int(binary.BigEndian.Uint16(packet[2:]))
		if header < ipv4Header || total < header || total > len(packet) || packet[9] != protocolUDP ||
			binary.BigEndian.Uint16(packet[6:])&0x3fff != 0 {
			return datagram{}, errNoDatagram
		}
		from, to = netip.AddrFrom4([4]byte(packet[12:])), netip.AddrFrom4([4]byte(packet[16:]))
		packet = packet[header:total]
	case typeIPv6:
		if len(packet) < ipv6Header || packet[0]>>4 != 6 {
			return datagram{}, errNoDatagram
		}
		length := int(binary.BigEndian.Uint16(packet[4:]))
		if length > len(packet)-ipv6Header || packet[6] != protocolUDP {
			return datagram{}, errNoDatagram
		}
		from, to = netip.AddrFrom16([16]byte(packet[8:])), netip.AddrFrom16([16]byte(packet[24:]))
		packet = packet[ipv6Header : ipv6Header+length]
	default:
		return datagram{}, errNoDatagram
	}
	if len(packet) < udpHeader {
		return datagram{}, errNoDatagram
	}
	length := int(binary.BigEndian.Uint16(packet[4:]))
	if length < udpHeader || length > len(packet) {
		return datagram{}, errNoDatagram
	}
	d.from = netip.AddrPortFrom(from, binary.BigEndian.Uint16(packet))
	d.to = netip.AddrPortFrom(to, binary.BigEndian.Uint16(packet[2:]))
	d.payload = packet[udpHeader:length]
	return d, nil
}

// frame is the frame with the datagram in it. Its payload is at most maxMessage bytes plus headers.
func (d datagram) frame() []byte {
	udp := make([]byte, udpHeader, udpHeader+len(d.payload))
	udp = append(udp, d.payload...)
	binary.BigEndian.PutUint16(udp, d.from.Port())
	binary.BigEndian.PutUint16(udp[2:], d.to.Port())
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp))) //nolint:gosec // at most an Ethernet's packet
	from, to := d.from.Addr().AsSlice(), d.to.Addr().AsSlice()
	pseudo := append(append(append([]byte{}, from...), to...), 0, protocolUDP, udp[4], udp[5])
	sum := checksum(append(pseudo, udp...))
	if sum == 0 { // 0 would mean that there is none
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(udp[6:], sum)

	f := append(append([]byte{}, d.toMAC[:]...), d.fromMAC[:]...)
	if d.from.Addr().Is4() {
		f = append(f, typeIPv4>>8, typeIPv4&0xff)
		ip := []byte{0x45, 0, 0, 0, 0, 0, 0, 0, hopLimit, protocolUDP, 0, 0}
		binary.BigEndian.PutUint16(ip[2:], uint16(ipv4Header+len(udp))) //nolint:gosec // at most an Ethernet's packet
		ip = append(append(ip, from...), to...)
		binary.BigEndian.PutUint16(ip[10:], checksum(ip))
		return append(append(f, ip...), udp...)
	}
	f = append(f, typeIPv6>>8, typeIPv6&0xff)
	ip := []byte{0x60, 0, 0, 0, udp[4], udp[5], protocolUDP, hopLimit}
	ip = append(append(ip, from...), to...)
	return append(append(f, ip...), udp...)
}

// checksum is the internet's (RFC 1071).
func checksum(data []byte) uint16 {
	var sum uint32
	for ; len(data) > 1; data = data[2:] {
		sum += uint32(binary.BigEndian.Uint16(data))
	}
	if len(data) == 1 {
		sum += uint32(data[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
