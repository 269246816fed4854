package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

// cutOff expects that a host reaches another one no more.
func (d *dpu) cutOff(from, to string) {
	d.Helper()
	d.Expect(d.pings(from, to)()).To(BeFalse(), "%s still reaches %s", from, to)
	d.Expect(d.pings(to, from)()).To(BeFalse(), "%s still reaches %s", to, from)
}

// noTraces expects that nothing is left of a network.
func (d *dpu) noTraces() {
	d.Helper()
	d.Expect(d.vsctl("list-br")).NotTo(ContainSubstring("br-int"))
	d.Expect(d.vsctl("list-ports", "br-transport")).To(Equal("p0"))
	d.Expect(d.vsctl("--if-exists", "get", "open", ".", "external_ids:ovn-remote")).To(BeEmpty())
	d.Expect(d.lives("ovn-controller")).To(BeFalse())
	d.Expect(d.connections()).To(BeEmpty())
}

// connections returns what Open vSwitch tracks.
func (d *dpu) connections() string {
	return strings.TrimSpace(d.run("ovs-appctl", "-t", d.switchSocket(), "dpctl/dump-conntrack", "netdev@ovs-netdev"))
}

func TestIsolate_othersGoOn(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3", "h4")
	stream := d.stream("h2", "h3")
	before := d.port("pf2hpf").GetGeneration()
	start := time.Now()
	report, err := d.isolate("h4")
	d.Expect(err).NotTo(HaveOccurred())
	t.Logf("isolated in %s", time.Since(start))
	for _, port := range report.GetPorts() {
		d.Expect(port.GetProblem()).To(BeEmpty())
		if port.GetName() == "pf2hpf" {
			d.Expect(port.GetAssignment()).To(BeNil())
			d.Expect(port.GetGeneration()).To(Equal(before + 1))
		}
	}
	d.Expect(d.vsctl("list-ports", "br-int")).NotTo(ContainSubstring("pf2hpf"))
	d.cutOff("h2", "h4")
	sent, lost := stream.end()
	t.Logf("%d packets of the others sent, %d lost", sent, lost)
	d.Expect(lost).To(BeZero())

	_, err = d.isolate("h4")
	d.Expect(err).NotTo(HaveOccurred(), "once more")
	_, err = d.isolate("unknown")
	d.Expect(err).NotTo(HaveOccurred(), "a host that isn't here")
}

func TestIsolate_lastPortLeavesNoTraces(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	d.Expect(d.connections()).NotTo(BeEmpty(), "OVN tracks connections")
	for _, host := range []string{"h2", "h3"} {
		_, err := d.isolate(host)
		d.Expect(err).NotTo(HaveOccurred())
	}
	d.noTraces()
	d.cutOff("h2", "h3")

	// The DPU is free for another group.
	_, err := d.attachTo("group-2", "pf0hpf", "h2", time.Hour)
	d.Expect(err).NotTo(HaveOccurred())
	_, err = d.attachTo("group-2", "pf1hpf", "h3", time.Hour)
	d.Expect(err).NotTo(HaveOccurred())
	d.reaches("h2", "h3")
}

// TestIsolate_overtakesItsAttach: the agent confirms that a port is unassigned, and an older request comes afterwards.
func TestIsolate_overtakesItsAttach(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	late, watched := d.request("group-1", "pf2hpf", "h4", time.Hour), d.watch()
	_, err := d.isolate("h4")
	d.Expect(err).NotTo(HaveOccurred())
	_, err = d.client.Attach(t.Context(), late)
	d.Expect(grpcstatus.Code(err)).To(Equal(codes.Aborted), "%v", err)
	watched("a new generation", func(r *agentv1.Report) bool { return r.GetPorts()[2].GetGeneration() > late.GetGeneration() })
	_, err = d.attach("pf2hpf", "h4", time.Hour)
	d.Expect(err).NotTo(HaveOccurred(), "decided again")
}

// TestIsolate_keepsTheBridgeUntilConnectionsAreForgotten: only there another agent finds which ones.
func TestIsolate_keepsTheBridgeUntilConnectionsAreForgotten(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	d.endAgent(syscall.SIGTERM)
	d.startAgent("--ovs-vswitchd-ctl=" + d.dir + "/none")
	for _, host := range []string{"h2", "h3"} {
		_, err := d.isolate(host)
		d.Expect(grpcstatus.Code(err)).To(Equal(codes.Unavailable), "%v", err)
	}
	d.Expect(d.vsctl("list-br")).To(ContainSubstring("br-int"))
	d.Expect(d.vsctl("list-ports", "br-int")).NotTo(ContainSubstring("hpf"))
	d.cutOff("h2", "h3")

	d.endAgent(syscall.SIGKILL)
	d.startAgent()
	d.Eventually(func() string { return d.port("pf0hpf").GetProblem() }).WithTimeout(patience).Should(BeEmpty())
	d.noTraces()
}

func TestIsolate_whileCentralIsGone(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	d.Expect(d.fabric.Cut(centralNode, "eth0")).To(Succeed())
	for _, host := range []string{"h2", "h3"} {
		start := time.Now()
		_, err := d.isolate(host)
		d.Expect(err).NotTo(HaveOccurred())
		t.Logf("%s isolated in %s", host, time.Since(start))
	}
	d.noTraces()
	d.cutOff("h2", "h3")
}

// TestIsolate_whileOVNControllerHangs: so only the agent forgets the connections.
func TestIsolate_whileOVNControllerHangs(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	d.Expect(syscall.Kill(d.pid("ovn-controller"), syscall.SIGSTOP)).To(Succeed())
	d.Expect(d.connections()).To(ContainSubstring("zone="))
	for _, host := range []string{"h2", "h3"} {
		_, err := d.isolate(host)
		d.Expect(err).NotTo(HaveOccurred())
	}
	d.noTraces()
	d.cutOff("h2", "h3")
}

func TestIsolate_isNotConfirmedWithoutVswitchd(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	d.kill("ovs-vswitchd")
	_, err := d.isolate("h3")
	d.Expect(grpcstatus.Code(err)).To(Equal(codes.Unavailable), "%v", err)
	d.Expect(d.port("pf1hpf").GetAssignment()).To(BeNil())
	d.Expect(d.port("pf1hpf").GetProblem()).To(ContainSubstring("ovs-vswitchd"))
	d.Expect(d.isDown("pf1hpf")).To(BeTrue())

	d.startSwitch()
	d.Eventually(func() string { return d.port("pf1hpf").GetProblem() }).WithTimeout(patience).Should(BeEmpty())
	_, err = d.isolate("h3")
	d.Expect(err).NotTo(HaveOccurred())
	d.cutOff("h2", "h3")
}

// TestUnassigned_isCutEvenWhereTheAgentCannotListen: nor is there an Open vSwitch.
func TestUnassigned_isCutEvenWhereTheAgentCannotListen(t *testing.T) {
	t.Parallel()
	d := newWorld(t, hostsBehind(1, 1, 2)).dpu(1)
	d.Expect(d.isDown("pf0hpf")).To(BeFalse())
	d.kill("ovsdb-server")
	d.launchAgent("--listen=192.0.2.1:9660")
	d.Eventually(d.agent.Done()).WithTimeout(patience).Should(BeClosed())
	d.Expect(d.agent.ExitError()).To(MatchError(ContainSubstring("listen at 192.0.2.1:9660")))
	d.Expect(d.isDown("pf0hpf")).To(BeTrue())
}

func TestUnassigned_isTakenOff(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	d.in(d.name, "ip", "link", "add", "pf3hpf", "type", "veth", "peer", "name", "host") // one that is new
	for _, port := range []string{"pf2hpf", "pf3hpf"} {
		d.vsctl("add-port", "br-int", port, "--", "set", "interface", port, "external_ids:iface-id=h4")
		d.in(d.name, "ip", "link", "set", port, "up")
		d.Eventually(func() string { return d.vsctl("list-ports", "br-int") }).WithTimeout(patience).ShouldNot(ContainSubstring(port))
		d.Eventually(d.isDown).WithArguments(port).Should(BeTrue())
	}
	d.cutOff("h2", "h4")
	d.reaches("h2", "h3")
}

// asked returns how many pings the DPU's own kernel has taken in.
func (d *dpu) asked() string {
	lines := regexp.MustCompile(`(?m)^Icmp: .*$`).FindAllString(d.in(d.name, "cat", "/proc/net/snmp"), 2)
	d.Expect(lines).To(HaveLen(2))
	return strings.Fields(lines[1])[slices.Index(strings.Fields(lines[0]), "InEchos")]
}

// TestHost_cannotReachTheDPU checks what gets in: the answers wouldn't get back anyhow.
func TestHost_cannotReachTheDPU(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	mac := strings.TrimSpace(d.in(d.name, "cat", "/sys/class/net/pf0hpf/address"))
	d.in("h2", "ip", "route", "replace", "default", "dev", "eth0")
	try := func() { d.command("h2", "ping", "-c2", "-i0.1", "-W1", d.ip).Run() }
	before := d.asked()
	try()
	d.Expect(d.in("h2", "ip", "neigh", "show", d.ip)).NotTo(ContainSubstring("lladdr"), "it doesn't say its MAC")
	for _, to := range []string{mac, "ff:ff:ff:ff:ff:ff"} {
		d.in("h2", "ip", "neigh", "replace", d.ip, "lladdr", to, "dev", "eth0")
		try()
		d.Expect(d.asked()).To(Equal(before), "by sending to "+to)
	}
	_, err := d.isolate("h2")
	d.Expect(err).NotTo(HaveOccurred())
	try()
	d.Expect(d.asked()).To(Equal(before), "isolated")
	d.in(centralNode, "ping", "-c1", "-W20", d.ip)
	d.Expect(d.asked()).NotTo(Equal(before), "by the fabric")

	d.in(d.name, "ip", "address", "add", "169.254.7.7/16", "dev", "pf0hpf") // as some network manager may do
	d.Eventually(func() (string, error) { log, err := os.ReadFile(d.dir + "/agent.log"); return string(log), err }).WithTimeout(patience).
		Should(MatchRegexp(`The DPU itself can be reached from a host.*pf0hpf.*169\.254\.7\.7/16`))
}
