package overlay_test

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

const genevePort = 6081

// A host reaches no DPU by its own address, and sends nothing into a tunnel; neither under an address of its own nor translated,
// whatever is shared.
func TestUnderlay_isOutOfReach(t *testing.T) {
	t.Parallel()
	d := upDrawn(t, fabric.Flat(2), public, func(d *drawn) {
		d.site.Shared = prefixes("172.18.0.0/16", "fd00:1::/64")
	})
	one := d.members[0].Name
	for _, dpu := range d.Topology().DPUs() {
		_, err := d.Serve(dpu.Name, tcpPort)
		d.Expect(err).NotTo(HaveOccurred())
		for v, address := range dpu.Addresses {
			d.seen(fabric.DC, address, d.server(fabric.DC)[v]) // it does answer
			for _, protocol := range []probe.Protocol{probe.TCP, probe.UDP, probe.ICMP} {
				d.silent(protocol, one, address)
			}
		}
	}
	dpu2 := d.Topology().DPUs()[1]
	arrived := count(d.t, d.Fabric, dpu2, "p0", func(packet []byte) bool {
		source, to := udp(packet)
		return to == genevePort && !isDPU(d.Fabric, source)
	})
	forge := func(protocol probe.Protocol, from string) {
		for _, address := range dpu2.Addresses {
			_, _ = d.probe(protocol, from, address, genevePort)
		}
	}
	forge(probe.UDP, one)
	d.Expect(arrived.Load()).To(BeZero())
	forge(probe.UDP, fabric.DC)
	d.Eventually(arrived.Load).Should(BeNumerically(">", 0), "they are seen if they come")

	// It is the rows that keep them away.
	arrived.Store(0)
	d.site.Underlay = nil
	d.write()
	forge(probe.UDP, one)
	d.Eventually(arrived.Load).Should(BeNumerically(">", 0))
}

// count the IP packets of a kind that come to an interface of a DPU.
func count(t testing.TB, f *fabric.Fabric, dpu fabric.DPU, on string, kind func(packet []byte) bool) *atomic.Int64 {
	t.Helper()
	g := NewWithT(t)
	var count atomic.Int64
	var socket int
	g.Expect(f.Do(dpu.Name, func() (err error) {
		every := binary.NativeEndian.Uint16([]byte{unix.ETH_P_ALL >> 8, unix.ETH_P_ALL & 0xff})
		if socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM, int(every)); err != nil {
			return err
		}
		link, err := net.InterfaceByName(on)
		if err != nil {
			return err
		}
		return unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: every, Ifindex: link.Index})
	})).To(Succeed())
	g.Expect(unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1})).To(Succeed())
	ended := make(chan struct{})
	t.Cleanup(func() { <-ended; _ = unix.Close(socket) })
	go func() {
		defer close(ended)
		packet := make([]byte, 2048)
		for t.Context().Err() == nil {
			n, from, err := unix.Recvfrom(socket, packet, 0)
			switch {
			case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			case err != nil:
				return
			case from.(*unix.SockaddrLinklayer).Pkttype != unix.PACKET_OUTGOING && n > 0 && kind(packet[:n]):
				count.Add(1)
			}
		}
	}()
	return &count
}

func isDPU(f *fabric.Fabric, a netip.Addr) bool {
	for _, dpu := range f.Topology().DPUs() {
		for _, own := range dpu.Addresses {
			if own == a {
				return true
			}
		}
	}
	return false
}

// udp returns the source's address and the destination's port of an IP packet.
func udp(packet []byte) (netip.Addr, uint16) {
	var source netip.Addr
	switch {
	case len(packet) >= 28 && packet[0] == 0x45 && packet[9] == unix.IPPROTO_UDP:
		source, _ = netip.AddrFromSlice(packet[12:16])
		return source, binary.BigEndian.Uint16(packet[22:])
	case len(packet) >= 48 && packet[0]>>4 == 6 && packet[6] == unix.IPPROTO_UDP:
		source, _ = netip.AddrFromSlice(packet[8:24])
		return source, binary.BigEndian.Uint16(packet[42:])
	}
	return source, 0
}

// What is denied is neither reached nor heard of. What is shared is reached all the same, past security groups too; it may
// answer, and begin nothing.
func TestSite_deniesAndShares(t *testing.T) {
	t.Parallel()
	d := upDrawn(t, fabric.Flat(2))
	one := d.members[0]
	for v := range 2 {
		d.seen(one.Name, d.server(fabric.DC)[v], one.Addresses[v].FabricIP)
		d.seen(fabric.Internet, one.Addresses[v].FabricIP, d.server(fabric.Internet)[v])
	}
	d.site.Denied = prefixes("0.0.0.0/0", "::/0")
	d.write()
	for v := range 2 {
		d.silent(probe.TCP, one.Name, d.server(fabric.DC)[v])
		d.silent(probe.TCP, fabric.Internet, one.Addresses[v].FabricIP)
		d.seen(one.Name, d.members[1].Addresses[v].HostIP, one.Addresses[v].HostIP) // that isn't meant
	}
	d.site.Shared = prefixes("172.19.0.0/24", "fd00:2::/64")
	d.group.SecurityGroups = []resourcev1.SecurityGroup{{Name: "default"}}
	for i := range d.members {
		d.members[i].SecurityGroups = d.group.SecurityGroupsOf(nil)
	}
	d.write()
	for v := range 2 {
		d.seen(one.Name, d.server(fabric.DC)[v], one.Addresses[v].FabricIP)
		d.silent(probe.TCP, fabric.DC, one.Addresses[v].FabricIP)
		d.silent(probe.TCP, one.Name, d.server(fabric.Internet)[v])
		d.silent(probe.TCP, one.Name, d.members[1].Addresses[v].HostIP)
	}
}
