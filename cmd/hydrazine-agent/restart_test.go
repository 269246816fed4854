package main

import (
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
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
	// It has cleared the old flows and put new ones in their place once a change gets through.
	_, err := d.attach("pf2hpf", "h4", time.Hour)
	d.Expect(err).NotTo(HaveOccurred())
	d.Eventually(d.pings("h2", "h4")).WithTimeout(patience).Should(BeTrue())
	sent, lost := stream.end()
	t.Logf("%d packets sent, %d lost", sent, lost)
	d.Expect(lost).To(BeZero())
}

func TestVswitchd_comesBack(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	d.kill("ovs-vswitchd")
	d.cutOff("h2", "h3")
	d.startSwitch()
	d.Eventually(d.pings("h2", "h3")).WithTimeout(patience).Should(BeTrue())
	d.Eventually(func() string { return d.port("pf0hpf").GetProblem() }).WithTimeout(patience).Should(BeEmpty())
}
