package main

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

// change gives the central's last change a number, which ovn-controller writes when it has its flows on the bridge.
func (w *world) change(number int64) {
	w.Helper()
	w.nb("set", "NB_Global", ".", fmt.Sprintf("nb_cfg=%d", number))
}

// written is the number of the change whose flows are on the bridge.
func (d *dpu) written() string {
	return d.vsctl("--if-exists", "get", "bridge", "br-int", "external_ids:ovn-nb-cfg")
}

// ovn-controller has the flows of a change on the bridge, and ovs-vswitchd still forwards by what it derived from those of before: the agent
// doesn't say the change, and does all else.
func TestDatapath_isWhatPacketsAreForwardedBy(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	forwards := func() *agentv1.Datapath { return d.report().GetDatapath() }
	by := func(group string, number int) func(Gomega) {
		return func(g Gomega) {
			g.Expect(forwards()).To(And(HaveField("GetGroupUid()", group), HaveField("GetChange()", BeEquivalentTo(number))))
		}
	}
	d.change(7)
	d.Eventually(by("group-1", 7)).WithTimeout(patience).Should(Succeed())

	d.run("ovs-appctl", "-t", d.switchSocket(), "revalidator/pause")
	d.change(8)
	d.Eventually(d.written).WithTimeout(patience).Should(Equal(`"8"`))
	d.Consistently(by("group-1", 7)).WithTimeout(3 * time.Second).Should(Succeed())
	began := time.Now()
	_, err := d.attach("pf2hpf", "h4", time.Hour)
	d.Expect(err).NotTo(HaveOccurred())
	_, err = d.isolate("h4")
	d.Expect(err).NotTo(HaveOccurred())
	d.Expect(time.Since(began)).To(BeNumerically("<", patience), "nothing else waits for it")
	d.run("ovs-appctl", "-t", d.switchSocket(), "revalidator/resume")
	d.Eventually(by("group-1", 8)).WithTimeout(patience).Should(Succeed())

	// The next one of either process knows nothing of what the one before was asked.
	d.run("ovs-appctl", "-t", d.switchSocket(), "revalidator/pause")
	d.change(9)
	d.Eventually(d.written).WithTimeout(patience).Should(Equal(`"9"`))
	d.kill("ovs-vswitchd")
	d.startSwitch()
	d.Eventually(by("group-1", 9)).WithTimeout(patience).Should(Succeed())
	d.endAgent(syscall.SIGTERM)
	d.startAgent()
	d.Eventually(by("group-1", 9)).WithTimeout(patience).Should(Succeed())

	// Another group has a count of its own, which may be at the same number.
	for _, host := range []string{"h2", "h3"} {
		_, err = d.isolate(host)
		d.Expect(err).NotTo(HaveOccurred())
	}
	by("", 0)(d)
	_, err = d.attachTo("group-2", "pf0hpf", "h2", time.Hour)
	d.Expect(err).NotTo(HaveOccurred())
	d.Expect(forwards().GetGroupUid()).NotTo(Equal("group-1"))
	d.Eventually(by("group-2", 9)).WithTimeout(patience).Should(Succeed())
}
