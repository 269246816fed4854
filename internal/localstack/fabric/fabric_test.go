package fabric_test

import (
	"context"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/fabrictest"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

const port = 7000

var (
	control  = netip.MustParseAddr("172.18.0.2")
	dc       = netip.MustParseAddr("172.19.0.10")
	internet = netip.MustParseAddr("198.51.100.10")
)

func ping(t testing.TB, f *fabric.Fabric, from string, to netip.Addr, size int) {
	t.Helper()
	_, err := f.Reach(t.Context(), probe.Probe{
		From: from, Protocol: probe.ICMP, To: netip.AddrPortFrom(to, 0), Size: size, Patience: 10 * time.Second,
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

// routeHosts makes a Linux router of each DPU, so that cables are tested without OVN. Host number N of all gets 10.0.N.2.
func routeHosts(t testing.TB, f *fabric.Fabric) {
	t.Helper()
	g := NewWithT(t)
	number := byte(0)
	for _, dpu := range f.Topology().DPUs() {
		for i, host := range dpu.Hosts {
			number++
			gateway := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, number, 1}), 24)
			g.Expect(f.Do(dpu.Name, func() error {
				link, err := netlink.LinkByName(fabric.Port(i))
				if err != nil {
					return err
				}
				if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
					return err
				}
				return netlink.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{
					IP: gateway.Addr().AsSlice(), Mask: net.CIDRMask(24, 32),
				}})
			})).To(Succeed())
			g.Expect(f.Configure(host.Name, netip.PrefixFrom(gateway.Addr().Next(), 24), gateway.Addr())).To(Succeed())
			g.Expect(f.AddRoute(fabric.Router, gateway, dpu.Addresses[0])).To(Succeed())
		}
	}
}

func hostAddress(number int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(number), 2}) }

func mtu(t testing.TB, f *fabric.Fabric, node, link string) (mtu int, mac string) {
	t.Helper()
	NewWithT(t).Expect(f.Do(node, func() error {
		found, err := netlink.LinkByName(link)
		if err == nil {
			mtu, mac = found.Attrs().MTU, found.Attrs().HardwareAddr.String()
		}
		return err
	})).To(Succeed())
	return mtu, mac
}

func TestUp_cablesEachTopology(t *testing.T) {
	t.Parallel()
	for name, topology := range map[string]fabric.Topology{
		"flat": fabric.Flat(2), "routed": fabric.Routed(3), "bonded": fabric.Bonded(2), "jumbo": fabric.Jumbo(2),
		"two ports": fabric.TwoPorts(2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			f := fabrictest.Up(t, topology)
			routeHosts(t, f)

			for _, dpu := range topology.DPUs() {
				ping(t, f, fabric.Control, dpu.Addresses[0], 0)
				ping(t, f, dpu.Name, control, 0)
				ping(t, f, dpu.Name, internet, 0)
			}
			_, err := f.Serve(fabric.DC, port)
			g.Expect(err).NotTo(HaveOccurred())
			for i, host := range topology.Hosts() {
				_, err := f.Serve(host.Name, port)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(source(t, f, probe.UDP, host.Name, dc)).To(Equal(hostAddress(i + 1)))
				g.Expect(source(t, f, probe.TCP, fabric.DC, hostAddress(i+1))).To(Equal(dc))
				ping(t, f, host.Name, hostAddress(1), 0) // the first host, and so another one
				_, mac := mtu(t, f, host.Name, "eth0")
				g.Expect(mac).To(Equal(host.MAC.String()))
			}
		})
	}
}

func source(t testing.TB, f *fabric.Fabric, protocol probe.Protocol, from string, to netip.Addr) netip.Addr {
	t.Helper()
	answer, err := f.Reach(t.Context(), probe.Probe{
		From: from, Protocol: protocol, To: netip.AddrPortFrom(to, port), Size: 1200, Patience: 10 * time.Second,
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return answer.Source
}

func TestUp_canBeDualStack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	topology := fabric.Flat(1)
	for i, subnet := range []string{"fd00:1::", "fd00:2::", "fd00:3::"} {
		address := netip.MustParseAddr(subnet).Next()
		topology.Subnets[i].Gateways = append(topology.Subnets[i].Gateways, netip.PrefixFrom(address, 64))
		server := &topology.Subnets[i].Servers[0]
		server.Addresses = append(server.Addresses, address.Next())
	}
	dpu := &topology.Subnets[0].DPUs[0]
	dpu.Addresses = append(dpu.Addresses, netip.MustParseAddr("fd00:1::5"))
	f := fabrictest.Up(t, topology)

	_, err := f.Serve(fabric.DC, port)
	g.Expect(err).NotTo(HaveOccurred())
	for _, to := range []netip.Addr{dc, netip.MustParseAddr("fd00:2::2")} {
		ping(t, f, "dpu1", to, 0)
		g.Expect(source(t, f, probe.TCP, "dpu1", to)).To(BeElementOf(dpu.Addresses))
		g.Expect(source(t, f, probe.UDP, "dpu1", to).BitLen()).To(Equal(to.BitLen()))
	}
}

func TestConfigure_replacesTheAddress(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := fabrictest.Up(t, fabric.Flat(1))
	g.Expect(f.Configure("host1", netip.MustParsePrefix("10.0.0.2/24"), netip.MustParseAddr("10.0.0.1"))).To(Succeed())
	g.Expect(f.Configure("host1", netip.MustParsePrefix("10.1.0.2/24"), netip.MustParseAddr("10.1.0.1"))).To(Succeed())
	g.Expect(f.Do("host1", func() error {
		link, err := net.InterfaceByName("eth0")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(link.Addrs()).To(HaveExactElements(HaveField("String()", "10.1.0.2/24")))
		routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
		g.Expect(routes).To(HaveLen(2)) // one of them is the subnet
		g.Expect(routes).To(ContainElement(HaveField("Gw", BeEquivalentTo(net.IPv4(10, 1, 0, 1).To4()))))
		return err
	})).To(Succeed())
}

func TestUp_linksCarryWhatTheTopologySays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		topology     fabric.Topology
		uplink, host int
	}{
		"flat":  {topology: fabric.Flat(1), uplink: 1500, host: 1442},
		"jumbo": {topology: fabric.Jumbo(1), uplink: 9000, host: 8942},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			f := fabrictest.Up(t, test.topology)
			routeHosts(t, f)

			uplink, _ := mtu(t, f, "dpu1", "p0")
			g.Expect(uplink).To(Equal(test.uplink))
			host, _ := mtu(t, f, "host1", "eth0")
			g.Expect(host).To(Equal(test.host))
			ping(t, f, "host1", dc, test.host-28) // the largest packet, without the headers of IP and ICMP
		})
	}
}

// A DPU's Open vSwitch sees packets without any help of the kernel's: with offloaded checksums TCP and UDP would not pass.
func TestUp_openVSwitchForwardsTCPAndUDP(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := fabrictest.Up(t, fabric.Bonded(1))
	vsctl(t, f, "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev",
		"--", "add-port", "br0", fabric.Port(0),
		"--", "add-bond", "br0", "bond0", fabric.NIC(0), fabric.NIC(1), "bond_mode=active-backup")
	address := netip.MustParsePrefix("172.18.0.200/24")
	g.Expect(f.Configure("host1", address, netip.MustParseAddr("172.18.0.1"))).To(Succeed())
	_, err := f.Serve(fabric.DC, port)
	g.Expect(err).NotTo(HaveOccurred())

	for _, protocol := range []probe.Protocol{probe.TCP, probe.UDP} {
		g.Expect(source(t, f, protocol, "host1", dc)).To(Equal(address.Addr()))
	}

	// The bond has two ways to the fabric, and one is enough.
	for _, nic := range []int{0, 1} {
		g.Expect(f.Cut("dpu1", fabric.NIC(nic))).To(Succeed())
		g.Expect(source(t, f, probe.TCP, "host1", dc)).To(Equal(address.Addr()))
		g.Expect(f.Mend("dpu1", fabric.NIC(nic))).To(Succeed())
	}
}

func vsctl(t testing.TB, f *fabric.Fabric, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := f.Command(ctx, "dpu1", "ovs-vsctl", args...)
	command.Env = slices.Concat(os.Environ(), f.Environment("dpu1"))
	output, err := command.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(output))
}

func TestUp_refusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		dir, prefix, problem string
		change               func(*fabric.Topology)
	}{
		"prefix":       {prefix: "a-b", problem: `prefix "a-b" must be letters and digits`},
		"empty prefix": {prefix: "", problem: "must be letters and digits"},
		"long folder":  {prefix: "hztest", dir: "/tmp/" + string(make([]byte, 90)), problem: "bytes too long for sockets"},
		"same name": {prefix: "hztest", problem: `node name "control" is malformed or taken`,
			change: func(t *fabric.Topology) { t.Subnets[0].DPUs[0].Name = fabric.Control }},
		"long name": {prefix: "hztest", problem: `node name "elevenbytes" is malformed`,
			change: func(t *fabric.Topology) { t.Subnets[0].DPUs[0].Name = "elevenbytes" }},
		"same address": {prefix: "hztest", problem: "172.18.0.2 is no free address of subnet rack1",
			change: func(t *fabric.Topology) { t.Subnets[0].DPUs[0].Addresses[0] = control }},
		"foreign address": {prefix: "hztest", problem: "172.19.0.10 is no free address of subnet rack1",
			change: func(t *fabric.Topology) { t.Subnets[0].DPUs[0].Hosts[0].FabricIP = dc }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topology := fabric.Flat(1)
			if test.change != nil {
				test.change(&topology)
			}
			_, err := fabric.Up(t.Context(), test.dir, test.prefix, topology)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.problem)))
		})
	}
}

func TestTopologies_haveAddressesForAllDPUs(t *testing.T) {
	t.Parallel()
	for _, topology := range []fabric.Topology{
		fabric.Flat(fabric.MaxDPUs), fabric.Routed(fabric.MaxDPUs), fabric.TwoPorts(fabric.MaxDPUs),
	} {
		NewWithT(t).Expect(topology.Validate()).To(Succeed())
	}
}

func BenchmarkUp(b *testing.B) {
	fabrictest.Require(b)
	for b.Loop() {
		f, err := fabric.Up(b.Context(), fabrictest.Dir(b), fabric.RandomPrefix("hz"), fabric.Flat(2))
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := f.Down(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
