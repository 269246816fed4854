package main

import (
	"net"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// flows are UDP flows of a host's to another one, from as many ports.
type flows struct {
	*dpu
	from  string
	ports []*net.UDPConn
}

const firstPort = 20000

func (d *dpu) flows(from, to string, number int) *flows {
	d.Helper()
	f := &flows{dpu: d, from: from}
	d.Cleanup(func() {
		for _, port := range f.ports {
			_ = port.Close()
		}
	})
	d.Expect(d.fabric.Do(from, func() error { // a socket stays where it was made
		for n := range number {
			port, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(address(from)), Port: firstPort + n},
				&net.UDPAddr{IP: net.ParseIP(address(to)), Port: 9})
			if err != nil {
				return err
			}
			f.ports = append(f.ports, port)
		}
		return nil
	})).To(Succeed())
	return f
}

// send a packet of each flow, again and again with this time between.
func (f *flows) send(times int, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for range times {
		for _, port := range f.ports {
			_, _ = port.Write([]byte("x")) // refused, where the answer to the last one was that nobody listens
		}
		<-ticker.C
	}
}

// tracked connections, as text.
func (d *dpu) tracked() string {
	return d.run("ovs-appctl", "--target="+d.switchSocket(), "dpctl/dump-conntrack")
}

// expireConnections makes connection tracking forget UDP after so many seconds in all zones that there are now.
func (d *dpu) expireConnections(seconds string) {
	d.Helper()
	for _, setting := range strings.Split(strings.Trim(d.vsctl("get", "bridge", "br-int", "external_ids"), "{}"), ", ") {
		if key, zone, _ := strings.Cut(setting, "="); strings.HasPrefix(key, "ct-zone-") {
			d.vsctl("--may-exist", "add-zone-tp", "netdev", "zone="+strings.Trim(zone, `"`), "udp_first="+seconds, "udp_single="+seconds, "udp_multiple="+seconds)
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
		d.expireConnections("2")
		f.send(1, 10*time.Millisecond)
		d.Eventually(d.tracked).WithTimeout(patience).Should(ContainSubstring("sport=20000"), "OVN tracks them")
		for _, gap := range []time.Duration{2020 * time.Millisecond, 2100 * time.Millisecond, 2400 * time.Millisecond} {
			f.send(3, gap)
		}
		d.Expect(d.lives("ovs-vswitchd")).To(BeTrue())
		d.Expect(d.pid("ovs-vswitchd")).To(Equal(started))
		d.Expect(d.pings("h2", "h3")()).To(BeTrue())
	}
	survives()

	// One that is started says again what it can.
	d.kill("ovs-vswitchd")
	d.startSwitch()
	d.Eventually(d.pings("h2", "h3")).WithTimeout(patience).Should(BeTrue())
	d.Eventually(func() string { return d.vsctl("get", "datapath", ".", "capabilities:ct_zero_snat") }).WithTimeout(patience).Should(
		Equal(`"false"`))
	survives()
}
