package main

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/process"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// relayed is a world with a real DHCP server beside OVN's central.
type relayed struct {
	*world
	server *process.Process
	log    string
}

// A client renews within a test. Its lease doesn't end, nor does it rebind, while an agent is started again.
const leaseTime, renewalTime, rebindingTime = 60, 3, 50

// serverConfig knows two networks of the same addresses, and the fabric's.
const serverConfig = `
authoritative;
ping-check false;
default-lease-time %[1]d;
max-lease-time %[1]d;
option dhcp-renewal-time %[2]d;
option dhcp-rebinding-time %[3]d;
class "red" { match if option agent.circuit-id = "relay-red"; }
class "blue" { match if option agent.circuit-id = "relay-blue"; }
subnet 172.18.0.0 netmask 255.255.255.0 { range 172.18.0.200 172.18.0.209; }
subnet 10.10.10.0 netmask 255.255.255.0 {
  option routers 10.10.10.1;
  pool { allow members of "red"; range 10.10.10.20 10.10.10.29; }
  pool { allow members of "blue"; range 10.10.10.40 10.10.10.49; }
}
`

// serverConfig6 knows one network.
const serverConfig6 = `
default-lease-time %[1]d;
max-lease-time %[1]d;
preferred-lifetime %[1]d;
option dhcp-renewal-time %[2]d;
option dhcp-rebinding-time %[3]d;
class "red" { match if v6relay(1, option dhcp6.interface-id) = "relay-red"; }
subnet6 fd00::/64 {}
subnet6 fd10::/64 { pool6 { allow members of "red"; range6 fd10::20 fd10::29; } }
`

// newRelayed has two DPUs with a host each, h2 and h3, which have no addresses.
func newRelayed(t testing.TB) *relayed {
	t.Helper()
	w := newRelayedOn(t, rack(hostsBehind(1, 1, 2), hostsBehind(2, 1, 3)))
	w.startServer(centralNode, "-4", serverConfig)
	return w
}

func newRelayedOn(t testing.TB, subnet fabric.Subnet) *relayed {
	t.Helper()
	toolstest.Programs(t, "dhcpd", "dhclient")
	w := &relayed{world: newWorldOn(t, subnet)}
	for _, host := range w.fabric.Topology().Hosts() {
		w.in(host.Name, "ip", "-4", "address", "flush", "dev", "eth0")
		w.nb("lsp-set-port-security", host.Name, hostMAC(host.Name)+" 10.10.10.0/24 fd10::/64")
	}
	return w
}

// startServer starts it, or starts it again.
func (w *relayed) startServer(node, version, config string) {
	w.Helper()
	dir := w.fabric.RunDir("dhcp-" + node)
	w.Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
	w.log = dir + "/dhcpd.log"
	w.Expect(os.WriteFile(dir+"/dhcpd.conf", fmt.Appendf(nil, config, leaseTime, renewalTime, rebindingTime), 0o600)).To(Succeed())
	w.Expect(os.WriteFile(dir+"/dhcpd.leases", nil, 0o600)).To(Succeed())
	var err error
	w.server, err = w.fabric.Start(node, process.Command{
		Name: "dhcpd", Path: "dhcpd", Log: w.log,
		Args: []string{version, "-f", "-d", "-cf", dir + "/dhcpd.conf", "-lf", dir + "/dhcpd.leases", "-pf", dir + "/dhcpd.pid", "eth0"},
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(w.said).WithArguments("Server starting service").WithTimeout(patience).ShouldNot(BeZero())
}

// said returns how often the server has logged something.
func (w *relayed) said(words string) int {
	log, err := os.ReadFile(w.log)
	w.Expect(err).NotTo(HaveOccurred())
	return strings.Count(string(log), words)
}

func hostMAC(host string) string {
	return fmt.Sprintf("02:00:0a:0a:0a:0%s", strings.TrimPrefix(host, "h"))
}

const gatewayMAC = "02:aa:00:00:00:01"

// router gives a switch the router of its network, which sends what hosts send to their own gateway routers.
func (w *relayed) router(on string) {
	w.Helper()
	lr := "lr-" + on
	w.nb("lr-add", lr, "--", "lrp-add", lr, lr+"_"+on, gatewayMAC, "10.10.10.1/24", "169.254.128.1/17",
		"--", "lsp-add", on, on+"_"+lr, "--", "lsp-set-type", on+"_"+lr, "router", "--", "lsp-set-addresses", on+"_"+lr, "router",
		"--", "lsp-set-options", on+"_"+lr, "router-port="+lr+"_"+on,
		"--", "lrp-add", lr, lr+"_out", "02:aa:00:00:00:02", "169.254.1.1/30",
		"--", "--policy=src-ip", "lr-route-add", lr, "10.10.10.0/24", "169.254.1.2", lr+"_out")
	for n := 20; n < 50; n++ {
		w.nb("--policy=src-ip", "lr-route-add", lr, fmt.Sprintf("10.10.10.%d/32", n), "169.254.1.2", lr+"_out")
	}
}

// relay adds the rows of a DPU's relay to a switch, and returns the request for its agent.
func (w *relayed) relay(d *dpu, on, name, host string) *agentv1.DHCPRelay {
	w.Helper()
	last := netip.MustParseAddr(d.ip).As4()[3]
	r := &agentv1.DHCPRelay{
		Interface: name, LogicalPort: name + "-" + d.name, Mac: fmt.Sprintf("02:fe:a9:fe:80:%02x", last),
		Address: fmt.Sprintf("169.254.128.%d", last), Server: centralIP, LinkAddress: "10.10.10.1",
	}
	w.nb("lsp-add", on, r.LogicalPort, "--", "lsp-set-addresses", r.LogicalPort, r.Mac+" "+r.Address,
		"--", "--may-exist", "lr-route-add", "lr-"+on, r.Address+"/32", r.Address, "lr-"+on+"_"+on)
	port := fmt.Sprintf("outport == %q", r.LogicalPort)
	w.nb("acl-add", on, "to-lport", "1000", port, "drop")
	w.nb("acl-add", on, "to-lport", "1001", fmt.Sprintf("%s && udp.dst == 67 && ip4.dst == {255.255.255.255, %s} && eth.src == %s",
		port, r.Address, hostMAC(host)), "allow")
	w.nb("acl-add", on, "to-lport", "1002", fmt.Sprintf("%s && udp.dst == 67 && ip4.dst == %s && eth.src == %s && ip4.src == 10.10.10.0/24",
		port, r.Address, gatewayMAC), "allow")
	return r
}

func (w *relayed) attachWithRelay(d *dpu, group, host string, r *agentv1.DHCPRelay) {
	w.Helper()
	request := d.request(group, "pf0hpf", host, time.Hour)
	request.Assignment.DhcpRelay = r
	_, err := d.client.Attach(w.Context(), request)
	w.Expect(err).NotTo(HaveOccurred())
}

// clientScript is what dhclient has done with its leases. ROUTE is the host's only way to the relay.
const clientScript = `#!/bin/sh
case $reason in
BOUND6|RENEW6|REBIND6)
	ip address replace "$new_ip6_address/64" dev "$interface" nodad
	new_ip_address=$new_ip6_address ;;
BOUND|RENEW|REBIND|REBOOT)
	ip address replace "$new_ip_address/24" dev "$interface"
	ip route replace $ROUTE dev "$interface"
	ip link set "$interface" mtu "$new_interface_mtu" ;;
EXPIRE|FAIL|RELEASE|STOP)
	ip address flush dev "$interface" ;;
esac
echo "$reason $new_ip_address $new_dhcp_server_identifier $new_interface_mtu $new_dhcp_lease_time" >> %s
`

const viaGateway, onLink = "default via 10.10.10.1", "169.254.128.0/17"

// client runs dhclient on a host, and returns what it has done, a word for the occasion first.
func (w *relayed) client(host, route string) (events func(reason string) []string) {
	w.Helper()
	return w.clientOf("-4", host, route)
}

func (w *relayed) clientOf(version, host, route string) (events func(reason string) []string) {
	w.Helper()
	dir := w.fabric.RunDir("client-" + host)
	w.Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
	w.Expect(os.WriteFile(dir+"/script", fmt.Appendf(nil, clientScript, dir+"/events"), 0o700)).To(Succeed())
	_, err := w.fabric.Start(host, process.Command{
		Name: "dhclient of " + host, Path: "dhclient", Log: dir + "/dhclient.log",
		Args: []string{version, "-d", "-v", "-e", "ROUTE=" + route, "-sf", dir + "/script", "-cf", "/dev/null", "-lf", dir + "/leases",
			"-pf", dir + "/pid", "eth0"},
	})
	w.Expect(err).NotTo(HaveOccurred())
	return func(reason string) []string {
		log, _ := os.ReadFile(dir + "/events")
		var found []string
		for line := range strings.Lines(string(log)) {
			if strings.HasPrefix(line, reason+" ") {
				found = append(found, strings.TrimSpace(line))
			}
		}
		return found
	}
}

// relayTo attaches a DPU's host, with a relay, and returns when that works.
func (w *relayed) relayTo(d *dpu, group, on, name, host string) {
	w.Helper()
	r := w.relay(d, on, name, host)
	d.startAgent()
	w.attachWithRelay(d, group, host, r)
	w.Eventually(d.relayProblem).WithTimeout(patience).Should(BeEmpty())
	w.Eventually(func() bool { return d.port("pf0hpf").GetInstalled() }).WithTimeout(patience).Should(BeTrue())
	w.Expect(d.report().GetRelay().GetRelay().String()).To(Equal(r.String()))
	w.Expect(d.port("pf0hpf").GetAssignment().GetDhcpRelay().String()).To(Equal(r.String()))
}

// acquaint makes sure that two hosts reach each other: the first packet of a tunnel is lost.
func (w *relayed) acquaint(hosts ...string) {
	w.Helper()
	for _, host := range hosts {
		w.in(host, "ip", "address", "add", address(host)+"/24", "dev", "eth0")
	}
	w.reaches(hosts[0], hosts[1])
	for _, host := range hosts {
		w.in(host, "ip", "-4", "address", "flush", "dev", "eth0")
	}
}

// relayProblem is what the agent says of its relay, which is there.
func (d *dpu) relayProblem() string {
	r := d.report().GetRelay()
	if r == nil {
		return "there is no relay"
	}
	return r.GetProblem()
}
