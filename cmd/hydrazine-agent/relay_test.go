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
)

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

	// The agent comes back, and the relay with it. No host has to rebind.
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

	// The interface stays, or is created again.
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
	w.in(centralNode, "ping", "-c1", "-W20", d.ip)
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
