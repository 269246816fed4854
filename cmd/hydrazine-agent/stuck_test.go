package main

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func (d *dpu) signal(s syscall.Signal) {
	d.Helper()
	d.Expect(syscall.Kill(d.agent.PID(), s)).To(Succeed())
}

// An agent that is stopped has the lock, so no other process is in its place.
func TestExpire_cutsOffWhatAStuckAgentLeaves(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3", "h4")
	_, err := d.attach("pf1hpf", "h3", brief)
	d.Expect(err).NotTo(HaveOccurred())
	ends := time.Now().Add(brief) // at the latest: it counts from some moment of the call
	d.signal(syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(d.agent.PID(), syscall.SIGCONT) })
	d.expire()
	d.Expect(d.isDown("pf1hpf")).To(BeFalse(), "the lease goes on")
	d.waitUntil(ends)
	d.reaches("h2", "h3") // it wasn't ended
	d.expire()
	d.Expect(d.isDown("pf1hpf")).To(BeTrue())
	d.cutOff("h2", "h3")
	d.reaches("h2", "h4")

	d.signal(syscall.SIGCONT)
	d.Eventually(func() string { return d.vsctl("list-ports", "br-int") }).WithTimeout(patience).Should(Equal("pf0hpf\npf2hpf"))
	d.Expect(d.isDown("pf1hpf")).To(BeTrue())
	d.reaches("h2", "h4")
}

// What systemd does with an agent that is stuck: WatchdogSec and WatchdogSignal of the unit, and Restart.
func TestWatchdog_anAgentThatIsStoppedIsReplaced(t *testing.T) {
	t.Parallel()
	d := newWorld(t, hostsBehind(1, 1, 2, 3)).dpu(1)
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: d.dir + "/notify", Net: "unixgram"})
	d.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = systemd.Close() })
	d.env = []string{"NOTIFY_SOCKET=" + d.dir + "/notify"}
	// fed reports whether the watchdog is fed before it expires.
	fed := func() bool {
		buffer := make([]byte, 100)
		d.Expect(systemd.SetReadDeadline(time.Now().Add(15 * time.Second))).To(Succeed())
		n, err := systemd.Read(buffer)
		return err == nil && strings.Contains(string(buffer[:n]), "WATCHDOG=1")
	}
	d.startAgent()
	d.attachAll("h2", "h3")
	for range 3 {
		d.Expect(fed()).To(BeTrue())
	}
	status, body := d.get("/livez")
	d.Expect(status).To(Equal(http.StatusOK), body)

	stream := d.stream("h2", "h3")
	d.signal(syscall.SIGSTOP)
	d.Eventually(fed).WithTimeout(time.Minute).Should(BeFalse(), "but for what was on its way")
	d.endAgent(syscall.SIGKILL)
	d.startAgent()
	d.Eventually(func() string { return d.port("pf0hpf").GetProblem() }).WithTimeout(patience).Should(BeEmpty())
	sent, lost := stream.end()
	t.Logf("%d packets sent, %d lost", sent, lost)
	d.Expect(lost).To(BeZero())
	d.Expect(fed()).To(BeTrue())
}
