package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	. "github.com/onsi/gomega"
)

// Frames of this EtherType, which is free for experiments, are a test's own. Not every kernel has VLAN interfaces.
const etherType = 0x88b5

// untilArrives sends frames with a VLAN tag from one host until one arrives at the other, and returns its tag. 0 is none.
func (w *world) untilArrives(from, to string, tag uint16) (arrived uint16) {
	w.Helper()
	in, out := w.socket(to), w.socket(from)
	frame := slices.Concat(net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, net.HardwareAddr{2, 0, 0, 0, 9, 9})
	if tag != 0 {
		frame = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(frame, unix.ETH_P_8021Q), tag)
	}
	frame = append(binary.BigEndian.AppendUint16(frame, etherType), make([]byte, 50)...)
	w.Eventually(func() error {
		if _, err := unix.Write(out, frame); err != nil {
			return err
		}
		buffer, control, n := make([]byte, 100), make([]byte, 100), 0
		for binary.BigEndian.Uint16(buffer[12:]) != etherType {
			var err error
			if _, n, _, _, err = unix.Recvmsg(in, buffer, control, 0); err != nil {
				return err
			}
		}
		messages, err := unix.ParseSocketControlMessage(control[:n])
		if err != nil || len(messages) != 1 {
			return fmt.Errorf("%d messages beside the frame: %w", len(messages), err)
		}
		arrived = 0 // of struct tpacket_auxdata: the kernel has taken the tag out of the frame
		if data := messages[0].Data; binary.NativeEndian.Uint32(data)&unix.TP_STATUS_VLAN_VALID != 0 {
			arrived = binary.NativeEndian.Uint16(data[16:])
		}
		return nil
	}).WithTimeout(patience).Should(Succeed(), "%s to %s", from, to)
	return arrived
}

// socket for frames of a host. They stay in its namespace.
func (w *world) socket(host string) (socket int) {
	w.Helper()
	w.Expect(w.fabric.Do(host, func() (err error) {
		kind := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
		if socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(kind)); err != nil {
			return err
		}
		link, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		timeout := unix.NsecToTimeval(int64(200 * time.Millisecond))
		if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
			return err
		}
		if err := unix.SetsockoptInt(socket, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
			return err
		}
		return unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: kind, Ifindex: link.Index})
	})).To(Succeed())
	w.Cleanup(func() { unix.Close(socket) })
	return socket
}
