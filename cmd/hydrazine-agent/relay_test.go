package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"
	. "github.com/onsi/gomega"
	"golang.org/x/time/rate"

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

// leaseTime is so short that a client renews within a test.
const leaseTime = 6

// serverConfig knows two networks of the same addresses, and the fabric's.
const serverConfig = `
authoritative;
ping-check false;
default-lease-time %[1]d;
max-lease-time %[1]d;
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
	w.Expect(os.WriteFile(dir+"/dhcpd.conf", fmt.Appendf(nil, config, leaseTime), 0o600)).To(Succeed())
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

// relay adds the rows of a DPU's relay to a switch, and returns what its agent is to be told.
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
	w.Eventually(w.pings(hosts[0], hosts[1])).WithTimeout(patience).Should(BeTrue())
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

func TestRelay_leaseAndRenewal(t *testing.T) {
	t.Parallel()
	w := newRelayed(t)
	w.router("ls")
	hosts, dpus, routes := []string{"h2", "h3"}, []*dpu{w.dpu(1), w.dpu(2)}, []string{viaGateway, onLink}
	for i, d := range dpus {
		w.relayTo(d, "group-1", "ls", "relay-red", hosts[i])
	}
	w.acquaint("h2", "h3")
	var clients []func(string) []string
	for i, d := range dpus {
		clients = append(clients, w.client(hosts[i], routes[i]))
		w.Eventually(clients[i]).WithArguments("BOUND").WithTimeout(patience).ShouldNot(BeEmpty())
		d.run("ovs-appctl", "-t", d.switchSocket(), "dpctl/flush-conntrack") // a renewal isn't the answer to an answer
	}
	for i, d := range dpus {
		events, mac := clients[i], hostMAC(hosts[i])
		lease := fmt.Sprintf(`10\.10\.10\.2\d %s 1442 %d$`, d.report().GetRelay().GetRelay().GetAddress(), leaseTime)
		w.Expect(events("BOUND")).To(ConsistOf(MatchRegexp(lease)))
		w.Eventually(events).WithArguments("RENEW").WithTimeout(patience).Should(ContainElement(MatchRegexp(lease)))
		w.Expect(w.said("DHCPDISCOVER from "+mac+" via "+d.ip)).NotTo(BeZero(), "giaddr is the DPU's own")
		w.Expect(w.said(mac+" via "+dpus[1-i].ip)).To(BeZero(), "the other DPU has passed it on")
	}

	// The agent comes back, and the relay with it. Nobody has to rebind.
	d, renewed := dpus[0], len(clients[0]("RENEW"))
	flows := d.vsctl("get", "open", ".", "next_cfg")
	d.endAgent(syscall.SIGKILL)
	d.startAgent()
	w.Eventually(func() int { return len(clients[0]("RENEW")) }).WithTimeout(patience).Should(BeNumerically(">", renewed+1))
	w.Expect(clients[0]("REBIND")).To(BeEmpty())
	w.Expect(clients[0]("EXPIRE")).To(BeEmpty())
	w.Expect(d.vsctl("get", "open", ".", "next_cfg")).To(Equal(flows))
}

// TestRelay_tellsGroupsApart: the same addresses, the same server, two networks.
func TestRelay_tellsGroupsApart(t *testing.T) {
	t.Parallel()
	w := newRelayed(t)
	w.nb("ls-add", "blue", "--", "lsp-del", "h3", "--", "lsp-add", "blue", "h3",
		"--", "lsp-set-addresses", "h3", hostMAC("h3"))
	w.router("ls")
	w.router("blue")
	w.relayTo(w.dpu(1), "group-1", "ls", "relay-red", "h2")
	w.relayTo(w.dpu(2), "group-2", "blue", "relay-blue", "h3")
	w.remember("h3", "10.10.10.20") // from when it was in the other network
	red, blue := w.client("h2", viaGateway), w.client("h3", viaGateway)
	w.Eventually(red).WithArguments("BOUND").WithTimeout(patience).Should(ConsistOf(ContainSubstring("10.10.10.2")))
	w.Eventually(blue).WithArguments("BOUND").WithTimeout(patience).Should(ConsistOf(ContainSubstring("10.10.10.4")))
	log, err := os.ReadFile(w.fabric.RunDir("client-h3") + "/dhclient.log")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(string(log)).To(ContainSubstring("DHCPNAK from 169.254.128.6"))
}

// remember gives a client a lease that it asks for first.
func (w *relayed) remember(host, address string) {
	w.Helper()
	dir := w.fabric.RunDir("client-" + host)
	w.Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
	lease := fmt.Sprintf("lease { interface \"eth0\"; fixed-address %s; option dhcp-lease-time 6000;\n"+
		"renew 4 2099/01/01 00:00:00; rebind 4 2099/01/01 00:00:00; expire 4 2099/01/01 00:00:00; }\n", address)
	w.Expect(os.WriteFile(dir+"/leases", []byte(lease), 0o600)).To(Succeed())
}

func TestRelay_comesBack(t *testing.T) {
	t.Parallel()
	w := newRelayed(t)
	w.router("ls")
	d := w.dpu(1)
	w.relayTo(d, "group-1", "ls", "relay-red", "h2")
	events := w.client("h2", viaGateway)
	renewed := func() int { return len(events("RENEW")) }
	w.Eventually(renewed).WithTimeout(patience).ShouldNot(BeZero())

	w.server.Kill()
	w.Eventually(d.relayProblem).WithTimeout(patience).Should(ContainSubstring("refused"))
	w.startServer(centralNode, "-4", serverConfig)
	w.Eventually(d.relayProblem).WithTimeout(patience).Should(BeEmpty())

	// The interface stays, or is made anew.
	for _, breakOff := range []func(){
		func() {
			d.kill("ovs-vswitchd")
			d.Eventually(d.lives).WithArguments("ovs-vswitchd").Should(BeFalse())
			d.startSwitch()
		},
		func() { d.in(d.name, "ip", "link", "set", "relay-red", "down") },
	} {
		breakOff()
		before := renewed()
		w.Eventually(renewed).WithTimeout(patience).Should(BeNumerically(">", before+1))
		w.Expect(d.relayProblem()).To(BeEmpty())
	}
}

// TestRelay_changesAndGoes: a relay is the assignment's, and a renewal can bring another one.
func TestRelay_changesAndGoes(t *testing.T) {
	t.Parallel()
	w := newRelayed(t)
	w.router("ls")
	d := w.dpu(1)
	w.relayTo(d, "group-1", "ls", "relay-red", "h2")
	generation := d.port("pf0hpf").GetGeneration()
	ports := func() string { return d.vsctl("list-ports", "br-int") }
	w.Expect(ports()).To(ContainSubstring("relay-red"))
	w.Expect(d.report().GetPorts()).To(HaveLen(1), "the relay's port isn't a host's")

	w.nb("lsp-del", "relay-red-dpu1")
	other := w.relay(d, "ls", "relay-blue", "h2")
	server := other.Server
	other.Server = "172.18.0.9" // which isn't there
	w.attachWithRelay(d, "group-1", "h2", other)
	w.Expect(ports()).NotTo(ContainSubstring("relay-red"))
	w.Eventually(d.relayProblem).WithTimeout(patience).Should(BeEmpty())
	w.client("h2", viaGateway)
	other.Server = server
	w.attachWithRelay(d, "group-1", "h2", other)
	w.Eventually(w.said).WithArguments("DHCPACK on 10.10.10.4").WithTimeout(patience).ShouldNot(BeZero())
	w.attachWithRelay(d, "group-1", "h2", nil)
	w.Expect(ports()).To(Equal("pf0hpf"))
	w.Expect(d.report().GetRelay()).To(BeNil())
	w.attachWithRelay(d, "group-1", "h2", other)
	w.Expect(d.port("pf0hpf").GetGeneration()).To(Equal(generation), "renewals")

	_, err := d.isolate("h2")
	w.Expect(err).NotTo(HaveOccurred())
	d.noTraces()
	w.Expect(d.report().GetRelay()).To(BeNil())
	w.Expect(d.in(d.name, "ip", "link", "show")).NotTo(ContainSubstring("relay-"))
}

// TestRelay_isNoWayToTheDPU: even where OVN lets everything through to it.
func TestRelay_isNoWayToTheDPU(t *testing.T) {
	t.Parallel()
	w := newRelayed(t)
	w.router("ls")
	d := w.dpu(1)
	w.relayTo(d, "group-1", "ls", "relay-red", "h2")
	w.nb("acl-del", "ls", "to-lport")
	mac := d.report().GetRelay().GetRelay().GetMac()
	w.in("h2", "ip", "address", "add", address("h2")+"/24", "dev", "eth0")
	w.in("h2", "ip", "route", "replace", "default", "dev", "eth0")
	w.in("h2", "ip", "neigh", "replace", d.ip, "lladdr", mac, "dev", "eth0")
	arrived := func() int {
		count, err := strconv.Atoi(strings.TrimSpace(d.in(d.name, "cat", "/sys/class/net/relay-red/statistics/rx_packets")))
		w.Expect(err).NotTo(HaveOccurred())
		return count
	}
	asked, before := d.asked(), arrived()
	ping := func() int { w.command("h2", "ping", "-c2", "-i0.1", "-W1", d.ip).Run(); return arrived() }
	w.Eventually(ping).WithTimeout(patience).Should(BeNumerically(">=", before+2))
	w.Expect(d.asked()).To(Equal(asked))
	w.in(centralNode, "ping", "-c1", "-W1", d.ip)
	w.Expect(d.asked()).NotTo(Equal(asked), "by the fabric")
}

// TestRelay_aHostIsOneClient: it asks under one client identifier after the other, and gives back what another host has.
func TestRelay_aHostIsOneClient(t *testing.T) {
	t.Parallel()
	w := newRelayed(t)
	w.router("ls")
	var relay net.IP
	for i, host := range []string{"h2", "h3"} {
		d := w.dpu(i + 1)
		w.relayTo(d, "group-1", "ls", "relay-red", host)
		request := d.request("group-1", "pf0hpf", host, time.Hour)
		request.Assignment.DhcpRelay = d.report().GetRelay().GetRelay()
		request.Assignment.HostMac, request.Assignment.HostIps = hostMAC(host), []string{address(host)}
		_, err := d.client.Attach(t.Context(), request)
		w.Expect(err).NotTo(HaveOccurred())
		if host == "h2" {
			relay = net.ParseIP(request.Assignment.DhcpRelay.GetAddress())
		}
	}
	w.acquaint("h2", "h3")
	var client *nclient4.Client
	w.Expect(w.fabric.Do("h2", func() (err error) { client, err = nclient4.New("eth0"); return err })).To(Succeed())
	defer client.Close()
	given, pace := map[string]bool{}, rate.NewLimiter(2, 1) // a host that asks more often is slowed down
	for i := range 15 {                                     // there are 10 addresses
		w.Expect(pace.Wait(t.Context())).To(Succeed())
		id := []byte{255, 0, 0, 0, byte(i), 0, 4, 1, 2, 3}
		lease, err := client.Request(t.Context(), dhcpv4.WithGeneric(dhcpv4.OptionClientIdentifier, id))
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(lease.ACK.Options.Get(dhcpv4.OptionClientIdentifier)).To(Equal(id), "it hears of itself as it has said")
		given[lease.ACK.YourIPAddr.String()] = true
	}
	w.Expect(given).To(HaveLen(1))

	events := w.client("h3", onLink)
	w.Eventually(events).WithArguments("BOUND").WithTimeout(patience).ShouldNot(BeEmpty())
	has := net.ParseIP(strings.Fields(events("BOUND")[0])[1])
	ack, err := dhcpv4.New(dhcpv4.WithHwAddr(client.InterfaceAddr()), dhcpv4.WithYourIP(has),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IPv4bcast))) // it is sent there
	w.Expect(err).NotTo(HaveOccurred())
	mac, err := net.ParseMAC(hostMAC("h3"))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(client.Release(&nclient4.Lease{ACK: ack}, dhcpv4.WithOption(dhcpv4.OptServerIdentifier(relay)),
		dhcpv4.WithGeneric(dhcpv4.OptionClientIdentifier, append([]byte{1}, mac...)))).To(Succeed())
	_, err = client.Request(t.Context()) // which comes after it
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.said("DHCPRELEASE")).To(BeZero())
}

// TestRelay_DHCPv6: the tunnels end at an IPv4 address, and the server has an IPv6 one.
func TestRelay_DHCPv6(t *testing.T) {
	t.Parallel()
	subnet := rack(hostsBehind(1, 1, 2), hostsBehind(2, 1, 3))
	subnet.Gateways = append(subnet.Gateways, netip.MustParsePrefix("fd00::1/64"))
	subnet.Servers[0].Addresses = append(subnet.Servers[0].Addresses, netip.MustParseAddr("fd00::2"))
	for i := range subnet.DPUs {
		subnet.DPUs[i].Addresses = append(subnet.DPUs[i].Addresses, netip.MustParseAddr(fmt.Sprintf("fd00::%d", 5+i)))
	}
	w := newRelayedOn(t, subnet)
	w.startServer(centralNode, "-6", serverConfig6)
	var clients []func(string) []string
	for i, host := range []string{"h2", "h3"} {
		d := w.dpu(i + 1)
		r := &agentv1.DHCPRelay{
			Interface: "relay-red", LogicalPort: "relay-" + d.name, Mac: fmt.Sprintf("02:fe:00:00:00:0%d", 5+i),
			Server: "fd00::2", LinkAddress: "fd10::1",
		}
		w.nb("lsp-add", "ls", r.LogicalPort, "--", "lsp-set-addresses", r.LogicalPort, r.Mac)
		port := fmt.Sprintf("outport == %q", r.LogicalPort)
		w.nb("acl-add", "ls", "to-lport", "1000", port, "drop")
		w.nb("acl-add", "ls", "to-lport", "1001", fmt.Sprintf("%s && udp.dst == 547 && ip6.dst == ff02::1:2 && eth.src == %s",
			port, hostMAC(host)), "allow")
		d.startAgent()
		w.attachWithRelay(d, "group-1", host, r)
		w.Eventually(d.relayProblem).WithTimeout(patience).Should(BeEmpty())
		// The client binds to the host's link-local address, and ends where the kernel is still looking for duplicates of that.
		w.Eventually(func() string {
			return w.in(host, "ip", "-6", "-oneline", "address", "show", "dev", "eth0", "scope", "link", "-tentative")
		}).WithTimeout(patience).Should(ContainSubstring("fe80::"))
		clients = append(clients, w.clientOf("-6", host, ""))
	}
	for i, events := range clients {
		w.Eventually(events).WithArguments("BOUND6").WithTimeout(patience).Should(ConsistOf(ContainSubstring("fd10::2")))
		w.Eventually(events).WithArguments("RENEW6").WithTimeout(patience).ShouldNot(BeEmpty())
		w.Expect(w.said(fmt.Sprintf("Relay-forward message from fd00::%d port 547, link address fd10::1", 5+i))).NotTo(BeZero())
	}
}
