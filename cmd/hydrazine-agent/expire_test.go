package main

import (
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// expire runs hydrazine-agent's expire to its end.
func (d *dpu) expire() {
	d.Helper()
	agent := d.agent
	d.launchAgent("expire")
	d.Eventually(d.agent.Done()).WithTimeout(patience).Should(BeClosed())
	d.Expect(d.agent.ExitError()).To(MatchError(ContainSubstring("exit status 0")))
	d.agent = agent
}

func TestExpire_endsLeasesOfADeadAgent(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	_, err := d.attach("pf1hpf", "h3", brief)
	d.Expect(err).NotTo(HaveOccurred())
	ends := time.Now().Add(brief) // at the latest: it counts from some moment of the call
	d.expire()                    // which the agent doesn't notice
	d.reaches("h2", "h3")
	d.endAgent(syscall.SIGKILL)
	d.expire()
	d.reaches("h2", "h3") // the lease goes on
	d.waitUntil(ends)
	d.expire()
	d.Expect(d.isDown("pf1hpf")).To(BeTrue())
	d.cutOff("h2", "h3")
	d.Expect(d.vsctl("list-ports", "br-int")).To(Equal("pf0hpf"))

	d.startAgent()
	d.Expect(d.port("pf0hpf").GetAssignment()).NotTo(BeNil())
	d.Expect(d.port("pf1hpf").GetAssignment()).To(BeNil())
}
