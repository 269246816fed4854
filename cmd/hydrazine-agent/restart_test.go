package main

import (
	"os"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
)

func TestRestart_losesNoPacket(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		controller, before := d.pid("ovn-controller"), d.port("pf0hpf")
		stream := d.stream("h2", "h3")
		d.endAgent(signal)
		d.startAgent()
		d.Eventually(func() string { return d.port("pf0hpf").GetProblem() }).WithTimeout(patience).Should(BeEmpty())
		sent, lost := stream.end()
		t.Logf("%s: %d packets sent, %d lost", signal, sent, lost)
		d.Expect(lost).To(BeZero(), signal.String())
		d.Expect(d.pid("ovn-controller")).To(Equal(controller))
		d.Expect(d.port("pf0hpf").GetGeneration()).To(Equal(before.GetGeneration()))
		d.Expect(d.port("pf0hpf").GetLeaseExpires().AsTime()).To(Equal(before.GetLeaseExpires().AsTime()))
	}
}

func TestOVNController_isStartedAgainWithoutLoss(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	stream := d.stream("h2", "h3")
	killed := d.pid("ovn-controller")
	d.kill("ovn-controller")
	d.Eventually(func() int { return d.pid("ovn-controller") }).WithTimeout(patience).ShouldNot(Equal(killed))
	// It has cleared the old flows and put new ones in their place once it says so. Another port would show that too, but Open vSwitch in
	// userspace, as here, sometimes drops a packet when it gets one.
	d.nb("--timeout=30", "--wait=hv", "sync")
	sent, lost := stream.end()
	t.Logf("%d packets sent, %d lost", sent, lost)
	d.Expect(lost).To(BeZero())
	_, err := d.attach("pf2hpf", "h4", time.Hour)
	d.Expect(err).NotTo(HaveOccurred())
	d.reaches("h2", "h4")
}

// As after an upgrade of OVN: an agent that starts replaces an ovn-controller that was started otherwise. One that is stopped without
// --restart deletes its tunnels.
func TestOVNController_isReplacedWithoutLoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hostsBehind(1, 1, 2), hostsBehind(2, 1, 3))
	d, far := w.dpu(1), w.dpu(2)
	attach := func(to *dpu, host string) {
		to.startAgent()
		_, err := to.attach(fabric.Port(0), host, time.Hour)
		w.Expect(err).NotTo(HaveOccurred())
	}
	attach(d, "h2")
	attach(far, "h3")
	w.reaches("h2", "h3")
	before, logs := d.pid("ovn-controller"), d.dir+"/logs"
	w.Expect(os.Mkdir(logs, 0o700)).To(Succeed())
	stream := w.stream("h2", "h3")
	d.endAgent(syscall.SIGTERM)
	d.startAgent("--ovn-logdir=" + logs)
	w.Eventually(func() int { return d.pid("ovn-controller") }).WithTimeout(patience).ShouldNot(BeElementOf(0, before))
	// As in TestOVNController_isStartedAgainWithoutLoss.
	w.nb("--timeout=30", "--wait=hv", "sync")
	sent, lost := stream.end()
	t.Logf("%d packets sent, %d lost", sent, lost)
	w.Expect(lost).To(BeZero())
	w.Expect(logs + "/ovn-controller.log").To(BeAnExistingFile())
}

func TestVswitchd_comesBack(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	d.kill("ovs-vswitchd")
	d.cutOff("h2", "h3")
	d.startSwitch()
	d.reaches("h2", "h3")
	d.Eventually(func() string { return d.port("pf0hpf").GetProblem() }).WithTimeout(patience).Should(BeEmpty())
}

func TestVswitchd_isReportedWhenItIsStartedAgain(t *testing.T) {
	t.Parallel()
	d := newWorld(t, hostsBehind(1, 1, 2)).dpu(1)
	d.startAgent()
	said := func() *agentv1.OpenVSwitch { return d.report().GetOpenVswitch() }
	d.Eventually(func() bool { return said().GetRunning() }).WithTimeout(patience).Should(BeTrue())
	first := said()
	d.Expect(first.GetRestarts()).To(BeZero(), "nothing is known of those before the agent")
	d.Expect(first.GetStarted().AsTime()).To(BeTemporally("<", d.report().GetTime().AsTime()))
	before := first
	for n := range uint32(2) {
		d.kill("ovs-vswitchd")
		d.startSwitch()
		d.Eventually(func() uint32 { return said().GetRestarts() }).WithTimeout(patience).Should(Equal(n + 1))
		now := said()
		d.Expect(now.GetStarted().AsTime()).To(BeTemporally(">", before.GetStarted().AsTime()))
		d.Expect(proto.Equal(said(), now)).To(BeTrue(), "it is the same in all reports of one run")
		before = now
	}
	_, body := d.get("/metrics")
	d.Expect(body).To(ContainSubstring("bedplate_hydrazine_agent_ovs_vswitchd_restarts_total 2"))
}

// systemctl is one that runs the only unit there is, as systemd would.
func TestOVNController_isStartedByItsUnit(t *testing.T) {
	t.Parallel()
	d := newWorld(t, hostsBehind(1, 1, 2, 3)).dpu(1)
	tools, state := d.dir+"/tools", d.dir+"/state"
	d.Expect(os.Mkdir(tools, 0o700)).To(Succeed())
	script := "#!/bin/sh\n[ \"$*\" = 'start own.service' ] || exit 1\necho started >> " + tools + "/log\nexec ovn-controller unix:" + d.dir + "/db.sock" +
		" --private-key=" + state + "/southbound.key --certificate=" + state + "/southbound.crt --ca-cert=" + state + "/southbound-ca.crt" +
		" --pidfile=" + d.dir + "/ovn-controller.pid --log-file=" + d.dir + "/ovn-controller.log --detach --no-chdir -vconsole:off\n"
	d.Expect(os.WriteFile(tools+"/systemctl", []byte(script), 0o700)).To(Succeed())
	d.env = []string{"PATH=" + tools + ":" + os.Getenv("PATH")}
	d.startAgent("--ovn-controller-unit=own.service")
	d.attachAll("h2", "h3")
	before := d.pid("ovn-controller")
	d.endAgent(syscall.SIGTERM)
	d.startAgent("--ovn-controller-unit=own.service")
	d.Eventually(func() string { return d.port("pf0hpf").GetProblem() }).WithTimeout(patience).Should(BeEmpty())
	d.Expect(d.pid("ovn-controller")).To(Equal(before), "it is as the agent would have started it")
	d.kill("ovn-controller")
	d.Eventually(func() (string, error) { log, err := os.ReadFile(tools + "/log"); return string(log), err }).WithTimeout(patience).Should(
		Equal("started\nstarted\n"))
	d.reaches("h2", "h3")
}
