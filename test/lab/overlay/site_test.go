package overlay_test

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

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
	forged := func(from string) int64 {
		for _, address := range dpu2.Addresses {
			_, _ = d.probe(probe.UDP, from, address, genevePort)
		}
		return arrived.Load()
	}
	d.Expect(forged(one)).To(BeZero())
	d.Eventually(forged).WithArguments(fabric.DC).Should(BeNumerically(">", 0), "they are seen if they come")

	// It is the rows that keep them away.
	arrived.Store(0)
	d.site.Underlay = nil
	d.write()
	d.Eventually(forged).WithArguments(one).Should(BeNumerically(">", 0))
}

// What a DPU has besides is out of reach of the host behind it, and of that one alone as long as nothing vouches for it.
func TestUnproven_isOutOfReachOfItsOwnHost(t *testing.T) {
	t.Parallel()
	loopback := netip.MustParseAddr("10.200.0.2")
	d := upDrawn(t, fabric.Flat(2))
	dpu, one, two := d.Topology().DPUs()[0], d.members[0], d.members[1]
	said, err := d.Command(t.Context(), dpu.Name, "ip", "address", "add", loopback.String()+"/32", "dev", "lo").CombinedOutput()
	d.Expect(err).NotTo(HaveOccurred(), string(said))
	d.Expect(d.AddRoute(fabric.Router, netip.PrefixFrom(loopback, 32), dpu.Addresses[0])).To(Succeed())
	_, err = d.Serve(dpu.Name, tcpPort)
	d.Expect(err).NotTo(HaveOccurred())
	d.seen(one.Name, loopback, one.Addresses[0].FabricIP) // as long as the manager doesn't know of it
	d.members[0].DPUAddresses = []netip.Addr{loopback}
	d.write()
	for _, protocol := range []probe.Protocol{probe.TCP, probe.UDP, probe.ICMP} {
		d.silent(protocol, one.Name, loopback)
	}
	d.seen(two.Name, loopback, two.Addresses[0].FabricIP)
	d.site.Underlay = append(d.site.Underlay, loopback)
	d.write()
	d.silent(probe.TCP, two.Name, loopback)
}

// No host reaches where its network is made, nor tells a router where public addresses are; but what the operator shares.
func TestControlPlane_isOutOfReach(t *testing.T) {
	t.Parallel()
	const bgp = 179
	d := upDrawn(t, fabric.Flat(2))
	one := d.members[0]
	for node, port := range map[string]uint16{fabric.Control: tcpPort, fabric.Router: bgp} {
		_, err := d.Serve(node, port)
		d.Expect(err).NotTo(HaveOccurred())
	}
	_, err := d.Serve(fabric.Router, tcpPort)
	d.Expect(err).NotTo(HaveOccurred())
	manager, router := d.server(fabric.Control), d.Topology().Subnets[0].Gateways
	speaks := func(to netip.Addr) func() error {
		return func() error { _, err := d.probe(probe.TCP, one.Name, to, bgp); return err }
	}
	for v := range 2 {
		d.seen(one.Name, manager[v], one.Addresses[v].FabricIP)
		d.Eventually(speaks(router[v].Addr())).Should(Succeed())
		d.site.Routers = append(d.site.Routers, router[v].Addr())
	}
	d.site.ControlPlane = manager
	d.write()
	for v := range 2 {
		for _, protocol := range []probe.Protocol{probe.TCP, probe.UDP, probe.ICMP} {
			d.silent(protocol, one.Name, manager[v])
		}
		d.Eventually(speaks(router[v].Addr())).Should(MatchError(probe.ErrNoAnswer))
		d.seen(one.Name, router[v].Addr(), one.Addresses[v].FabricIP)
	}
	for _, a := range manager {
		d.site.Shared = append(d.site.Shared, netip.PrefixFrom(a, a.BitLen()))
	}
	d.write()
	for v := range 2 {
		d.seen(one.Name, manager[v], one.Addresses[v].FabricIP)
	}
}

// count the IP packets of a kind that come to an interface of a DPU.
func count(t testing.TB, f *fabric.Fabric, dpu fabric.DPU, on string, kind func(packet []byte) bool) *atomic.Int64 {
	t.Helper()
	return countFrames(t, f, dpu.Name, on, unix.SOCK_DGRAM, kind)
}

// countFrames that come to an interface of a node: with all of them, by SOCK_RAW, or without what Ethernet adds, by SOCK_DGRAM.
func countFrames(t testing.TB, f *fabric.Fabric, node, on string, socketType int, kind func(frame []byte) bool) *atomic.Int64 {
	t.Helper()
	var count atomic.Int64
	socket, err := openFrames(f, node, on, socketType, time.Second)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	ended := make(chan struct{})
	t.Cleanup(func() { <-ended; _ = unix.Close(socket) })
	go func() {
		defer close(ended)
		packet := make([]byte, 2048)
		for t.Context().Err() == nil {
			n, from, err := unix.Recvfrom(socket, packet, 0)
			switch {
			case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR), errors.Is(err, unix.ENETDOWN): // a host's cable may be out for a while
			case err != nil:
				return
			case from.(*unix.SockaddrLinklayer).Pkttype != unix.PACKET_OUTGOING && n > 0 && kind(packet[:n]):
				count.Add(1)
			}
		}
	}()
	return &count
}

// openFrames of an interface. A read waits for so long at most.
func openFrames(f *fabric.Fabric, node, on string, socketType int, wait time.Duration) (socket int, err error) {
	every := binary.NativeEndian.Uint16([]byte{unix.ETH_P_ALL >> 8, unix.ETH_P_ALL & 0xff})
	err = f.Do(node, func() error {
		// Without a protocol it hears nothing before it is bound: otherwise it would have frames of all interfaces by then.
		if socket, err = unix.Socket(unix.AF_PACKET, socketType, 0); err != nil {
			return err
		}
		link, err := net.InterfaceByName(on)
		if err != nil {
			return err
		}
		return unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: every, Ifindex: link.Index})
	})
	limit := unix.NsecToTimeval(wait.Nanoseconds())
	return socket, errors.Join(err, unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit))
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
