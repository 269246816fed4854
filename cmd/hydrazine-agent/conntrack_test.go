package main

import (
	"net"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// flows are UDP flows of a host's to another one, from as many ports, the first of which is 20000.
type flows []*net.UDPConn

func (d *dpu) flows(from, to string, number int) (all flows) {
	d.Helper()
	d.Expect(d.fabric.Do(from, func() error { // a socket stays where it was made
		for n := range number {
			flow, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(address(from)), Port: 20000 + n},
				&net.UDPAddr{IP: net.ParseIP(address(to)), Port: 9})
			if err != nil {
				return err
			}
			d.Cleanup(func() { _ = flow.Close() })
			all = append(all, flow)
		}
		return nil
	})).To(Succeed())
	return all
}

// send a packet of each flow, again and again with this time between.
func (f flows) send(times int, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for range times {
		for _, flow := range f {
			_, _ = flow.Write([]byte("x")) // refused where the last one was answered by ICMP: no program has the port
		}
		<-ticker.C
	}
}

// tracked connections, as text.
func (d *dpu) tracked() string {
	return d.run("ovs-appctl", "--target="+d.switchSocket(), "dpctl/dump-conntrack")
}

// expireConnections makes connection tracking forget UDP after 2 s in all zones that there are now.
func (d *dpu) expireConnections() {
	d.Helper()
	for _, setting := range strings.Split(strings.Trim(d.vsctl("get", "bridge", "br-int", "external_ids"), "{}"), ", ") {
		if key, zone, _ := strings.Cut(setting, "="); strings.HasPrefix(key, "ct-zone-") {
			d.vsctl("--may-exist", "add-zone-tp", "netdev", "zone="+strings.Trim(zone, `"`), "udp_first=2", "udp_single=2", "udp_multiple=2")
		}
	}
}

// Open vSwitch 3.1 in userspace aborts when a packet of a connection arrives right after its timeout, if OVN has committed it with a
// source NAT to no address. With the usual 60 s DHCP renewals do it; here a timeout of 2 s makes it a matter of seconds.
func TestVswitchd_survivesFlowsAtTheTimeoutOfConnectionTracking(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	f := d.flows("h2", "h3", 300)
	survives := func() {
		d.Helper()
		started := d.pid("ovs-vswitchd")
		d.expireConnections()
		f.send(1, 10*time.Millisecond)
		d.Eventually(d.tracked).WithTimeout(patience).Should(ContainSubstring("sport=20000"), "OVN tracks them")
		for _, gap := range []time.Duration{2020 * time.Millisecond, 2100 * time.Millisecond, 2400 * time.Millisecond} {
			f.send(3, gap)
		}
		d.Expect(d.lives("ovs-vswitchd")).To(BeTrue())
		d.Expect(d.pid("ovs-vswitchd")).To(Equal(started))
		d.reaches("h2", "h3")
	}
	survives()

	// One that is started says again what it can.
	d.kill("ovs-vswitchd")
	d.startSwitch()
	d.reaches("h2", "h3")
	d.Eventually(func() string { return d.vsctl("get", "datapath", ".", "capabilities:ct_zero_snat") }).WithTimeout(patience).Should(
		Equal(`"false"`))
	survives()
}
