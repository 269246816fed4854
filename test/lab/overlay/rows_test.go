package overlay_test

import (
	"context"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

// drawn is the network that package topology draws, over DPUs that are connected by hand: without manager and agents.
type drawn struct {
	*byHand
	north   *ovn.Northbound
	group   topology.Group
	site    topology.Site
	members []topology.Member
}

var publicIPv6 = netip.MustParseAddr("2001:db8:113::")

// upDrawn has a group of both IP versions with all hosts of a dual-stack fabric. Host i has the addresses that end in i + 1.
func upDrawn(t testing.TB, on fabric.Topology, change ...func(*drawn)) *drawn {
	t.Helper()
	d := &drawn{byHand: upBare(t, fabric.DualStack(on))}
	d.SetDefaultEventuallyTimeout(patience)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("ovn-controller's log:\n%s", tail(filepath.Join(d.RunDir(on.DPUs()[0].Name), "ovn-controller.log")))
		}
	})
	d.group = topology.Group{UID: "uid-of-blue", Name: "blue", Networks: []topology.Network{
		{Prefix: netip.MustParsePrefix("10.10.10.0/24"), Gateway: netip.MustParseAddr("10.10.10.1")},
		{Prefix: netip.MustParsePrefix("fd10::/64"), Gateway: netip.MustParseAddr("fd10::1")},
	}}
	for _, dpu := range d.Topology().DPUs() {
		d.site.Underlay = append(d.site.Underlay, dpu.Addresses...)
		for _, host := range dpu.Hosts {
			d.members = append(d.members, d.member(len(d.members)+2, dpu.Name, host))
		}
	}
	for _, c := range change {
		c(d)
	}
	var err error
	d.Eventually(func() error {
		d.north, err = ovn.DialNorthbound(t.Context(), "unix:"+filepath.Join(d.dir, "nb.sock"), nil)
		return err
	}).Should(Succeed())
	t.Cleanup(d.north.Close)
	i := 0
	for _, dpu := range d.Topology().DPUs() {
		var ports []string
		for range dpu.Hosts {
			ports = append(ports, topology.PortName(d.members[i].UID, d.members[i].Name))
			i++
		}
		d.connect(dpu, ports...)
	}
	d.write()
	d.bound()
	for i, m := range d.members {
		for j, a := range m.Addresses {
			d.Expect(d.Configure(m.Name, netip.PrefixFrom(a.HostIP, d.group.Networks[j].Prefix.Bits()), d.group.Networks[j].Gateway)).To(Succeed())
			if a.PublicIP.IsValid() {
				// As BGP does.
				d.Expect(d.AddRoute(fabric.Router, netip.PrefixFrom(a.PublicIP, a.PublicIP.BitLen()), a.FabricIP)).To(Succeed())
			}
		}
		_, err := d.Serve(d.members[i].Name, tcpPort)
		d.Expect(err).NotTo(HaveOccurred())
	}
	for _, server := range []string{fabric.DC, fabric.Internet} {
		_, err := d.Serve(server, tcpPort)
		d.Expect(err).NotTo(HaveOccurred())
	}
	return d
}

func (d *drawn) member(number int, chassis string, host fabric.Host) topology.Member {
	hop := d.Topology().Subnets[0].Gateways
	v4, v6 := netip.AddrFrom4([4]byte{10, 10, 10, byte(number)}), fabric.IPv6(netip.MustParseAddr("fd10::"), netip.AddrFrom4([4]byte{3: byte(number)}))
	return topology.Member{
		UID: "uid-of-" + host.Name, Name: host.Name, HostMAC: host.MAC.String(), Chassis: chassis, Access: resourcev1.FabricAccess,
		Created: time.Unix(int64(number), 0),
		Addresses: []topology.Address{
			{HostIP: v4, FabricIP: host.FabricIP, FabricBits: 24, NextHop: hop[0].Addr()},
			{HostIP: v6, FabricIP: fabric.IPv6(hop[1].Addr(), host.FabricIP), FabricBits: 64, NextHop: hop[1].Addr()},
		},
	}
}

// public gives all members public addresses that end as their own do.
func public(d *drawn) {
	for i := range d.members {
		m := &d.members[i]
		m.Access = resourcev1.PublicAccess
		a := m.Addresses[0].HostIP.As4()
		a[0], a[1], a[2] = 203, 0, 113
		m.Addresses[0].PublicIP = netip.AddrFrom4(a)
		m.Addresses[1].PublicIP = fabric.IPv6(publicIPv6, m.Addresses[0].HostIP)
	}
}

// write what is drawn now, and wait for the DPUs to have it.
func (d *drawn) write() {
	d.t.Helper()
	network, err := topology.New(d.group, d.members, d.site)
	d.Expect(err).NotTo(HaveOccurred())
	d.Expect(network.Refused).To(BeEmpty())
	_, err = d.north.Apply(d.t.Context(), d.group.UID, network.Rows())
	d.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	d.Expect(d.north.SyncChassis(ctx)).To(Succeed())
}

// bound waits until all hosts have their ports, and the flows for them.
func (d *drawn) bound() {
	d.t.Helper()
	south, err := ovn.DialSouthbound(d.t.Context(), "unix:"+filepath.Join(d.dir, "sb.sock"), nil)
	d.Expect(err).NotTo(HaveOccurred())
	defer south.Close()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	d.Expect(south.Wait(ctx, func() (bool, error) {
		bindings, err := south.Bindings(ctx)
		return err == nil && !slices.ContainsFunc(d.members, func(m topology.Member) bool {
			return !bindings[topology.PortName(m.UID, m.Name)].Up
		}), err
	})).To(Succeed())
	d.Expect(d.north.SyncChassis(ctx)).To(Succeed())
}

func (d *drawn) probe(protocol probe.Protocol, from string, to netip.Addr, port uint16) (netip.Addr, error) {
	answer, err := d.Reach(d.t.Context(), probe.Probe{From: from, Protocol: protocol, To: netip.AddrPortFrom(to, port)})
	return answer.Source, err
}

// seen waits until a node reaches an address by TCP, and is seen there as it should be.
func (d *drawn) seen(from string, to, as netip.Addr) {
	d.t.Helper()
	d.Eventually(func(g Gomega) {
		source, err := d.probe(probe.TCP, from, to, tcpPort)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(source).To(Equal(as))
	}).Should(Succeed(), "%s to %s", from, to)
}

// silent waits until an address doesn't answer a node: after a change Open vSwitch remembers for a moment what it did before.
func (d *drawn) silent(protocol probe.Protocol, from string, to netip.Addr) {
	d.t.Helper()
	d.Eventually(func() error { _, err := d.probe(protocol, from, to, tcpPort); return err }).WithTimeout(revalidated).
		Should(MatchError(probe.ErrNoAnswer), "%s from %s to %s", protocol, from, to)
}

// server returns the addresses of a server, one of each IP version.
func (d *drawn) server(name string) []netip.Addr {
	for _, subnet := range d.Topology().Subnets {
		for _, server := range subnet.Servers {
			if server.Name == name {
				return server.Addresses
			}
		}
	}
	return nil
}
