package probe

import (
	"encoding/binary"
	"net/netip"
)

// A message is: nonce of the probe (8 bytes), sequence number (8), address that the server saw it come from (16, all zero on
// the way there), size (4), and zeros up to that size. Numbers are big-endian.
const (
	sequenceAt = 8
	sourceAt   = 16
	sizeAt     = 32
	headerSize = 36
	maxSize    = 65000
)

type nonce [8]byte

func message(n nonce, sequence uint64, size int) []byte {
	m := make([]byte, size)
	copy(m, n[:])
	binary.BigEndian.PutUint64(m[sequenceAt:], sequence)
	binary.BigEndian.PutUint32(m[sizeAt:], uint32(size)) //nolint:gosec // at most maxSize
	return m
}

func sequenceOf(m []byte) uint64 { return binary.BigEndian.Uint64(m[sequenceAt:]) }

func sizeOf(header []byte) int { return int(binary.BigEndian.Uint32(header[sizeAt:])) }

func setSource(m []byte, source netip.Addr) {
	bytes := source.As16()
	copy(m[sourceAt:sizeAt], bytes[:])
}

// sourceOf is invalid when no server has seen the message: a ping is answered by the kernel.
func sourceOf(m []byte) netip.Addr {
	source := netip.AddrFrom16([16]byte(m[sourceAt:sizeAt]))
	if source.IsUnspecified() {
		return netip.Addr{}
	}
	return source.Unmap()
}
