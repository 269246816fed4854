package main

import (
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"
	. "github.com/onsi/gomega"
	"golang.org/x/time/rate"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
)

// serverInside is a tenant's own: without a relay there has to be one in each network.
const serverInside = `
ping-check false;
default-lease-time %[1]d;
subnet 10.10.10.0 netmask 255.255.255.0 { range 10.10.10.60 10.10.10.69; }
`

// From a client's first message until it has a lease: on the server's own link of the fabric, from a server in the network
// behind another DPU, and through the relay.
func BenchmarkLease(b *testing.B) {
	subnet := rack(hostsBehind(1, 1, 2), hostsBehind(2, 1, 3))
	subnet.Servers = append(subnet.Servers, fabric.Server{Name: "near", Addresses: []netip.Addr{netip.MustParseAddr("172.18.0.9")}})
	w := newRelayedOn(b, subnet)
	w.router("ls")
	d, other := w.dpu(1), w.dpu(2)
	other.startAgent()
	w.attachWithRelay(other, "group-1", "h3", nil)
	w.relayTo(d, "group-1", "ls", "relay-red", "h2")
	w.Expect(w.fabric.Configure("h3", netip.MustParsePrefix("10.10.10.3/24"), netip.MustParseAddr("10.10.10.1"))).To(Succeed())

	w.startServer("h3", "-4", serverInside)
	b.Run("in the network", func(b *testing.B) { w.leases(b, "h2") })
	w.server.Kill()
	w.startServer(centralNode, "-4", serverConfig)
	b.Run("on the fabric", func(b *testing.B) { w.leases(b, "near") })
	b.Run("relayed", func(b *testing.B) { w.leases(b, "h2") })
}

func (w *relayed) leases(b *testing.B, host string) {
	var client *nclient4.Client
	err := w.fabric.Do(host, func() (err error) { client, err = nclient4.New("eth0"); return err })
	g := NewWithT(b)
	g.Expect(err).NotTo(HaveOccurred())
	defer client.Close()
	_, err = client.Request(b.Context()) // the first packet of a tunnel is lost
	g.Expect(err).NotTo(HaveOccurred())
	pace := rate.NewLimiter(2, 1) // a host that asks more often is slowed down
	for b.Loop() {
		b.StopTimer()
		g.Expect(pace.Wait(b.Context())).To(Succeed())
		b.StartTimer()
		lease, err := client.Request(b.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(lease.ACK.YourIPAddr.IsUnspecified()).To(BeFalse())
	}
}
