package overlay_test

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/bedplate/bedplate/internal/hydrazine/topology"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

const dhcpPort = 67

// A relay's interface is the DPU's own. It hears what the hosts on its DPU ask a DHCP server, over the switch and by the router,
// and nothing else; least of all by it the DPU's address on the fabric.
func TestRelayPort_hearsRequestsAlone(t *testing.T) {
	t.Parallel()
	d := upDrawn(t, fabric.Flat(2), func(d *drawn) { d.group.Relayed = netip.MustParseAddr("172.19.0.10") })
	dpu := d.Topology().DPUs()[0]
	network, err := topology.New(d.group, d.members, d.site)
	d.Expect(err).NotTo(HaveOccurred())
	relay, ok := network.Relay(dpu.Name)
	d.Expect(ok).To(BeTrue())
	d.relayInterface(dpu, relay)
	underlay := dpu.Addresses[0]
	arrived := map[netip.AddrPort]*atomic.Int64{} // each for itself: a packet that was sent before may come late
	for _, to := range []netip.AddrPort{
		netip.AddrPortFrom(relay.Address, dhcpPort), netip.AddrPortFrom(relay.Address, tcpPort),
		netip.AddrPortFrom(underlay, dhcpPort), netip.AddrPortFrom(underlay, genevePort),
	} {
		arrived[to] = count(d.t, d.Fabric, dpu, relay.Interface, func(packet []byte) bool { return destination(packet) == to })
	}
	here, there := d.members[0].Name, d.members[1].Name
	hears := func(from string, to netip.Addr, port uint16) bool {
		count := arrived[netip.AddrPortFrom(to, port)]
		before := count.Load()
		_, _ = d.probe(probe.UDP, from, to, port)
		return count.Load() > before
	}
	for _, way := range []string{"by the router", "over the switch"} {
		if way == "over the switch" {
			for _, to := range []netip.Addr{relay.Address, underlay} {
				d.run(here, "ip", "neigh", "replace", to.String(), "lladdr", relay.MAC, "dev", "eth0")
				d.run(here, "ip", "route", "replace", to.String(), "dev", "eth0")
			}
		}
		d.Eventually(func() bool { return hears(here, relay.Address, dhcpPort) }).Should(BeTrue(), way)
		d.Expect(hears(here, relay.Address, tcpPort)).To(BeFalse(), way)
		d.Expect(hears(here, underlay, dhcpPort)).To(BeFalse(), way)
		d.Expect(hears(here, underlay, genevePort)).To(BeFalse(), way)
	}
	d.Expect(hears(there, relay.Address, dhcpPort)).To(BeFalse(), "a host on another DPU")
}

// destination of a UDP packet over IPv4, or none.
func destination(packet []byte) netip.AddrPort {
	header := int(packet[0]&0xf) * 4
	if packet[0]>>4 != 4 || len(packet) < header+8 || packet[9] != unix.IPPROTO_UDP {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(packet[16:20])), binary.BigEndian.Uint16(packet[header+2:]))
}

// relayInterface makes what the agent makes for a relay.
func (d *drawn) relayInterface(dpu fabric.DPU, relay topology.Relay) {
	d.t.Helper()
	d.vs(dpu.Name, "add-port br-int "+relay.Interface+" -- set interface "+relay.Interface+" type=internal mac=\""+relay.MAC+
		"\" external_ids:iface-id="+relay.LogicalPort)
	d.run(dpu.Name, "sysctl", "-q", "-w", "net.ipv6.conf."+relay.Interface+".disable_ipv6=1")
	d.run(dpu.Name, "ip", "addr", "add", relay.Address.String()+"/17", "dev", relay.Interface)
	d.run(dpu.Name, "ip", "link", "set", relay.Interface, "up")
}
