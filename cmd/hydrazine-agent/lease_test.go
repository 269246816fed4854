package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
)

func TestLease_endsByItself(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	granted := time.Now()
	_, err := d.attach("pf1hpf", "h3", brief)
	d.Expect(err).NotTo(HaveOccurred())
	d.reaches("h2", "h3")
	d.Eventually(d.pings("h2", "h3")).WithTimeout(brief + patience).Should(BeFalse())
	d.Expect(time.Since(granted)).To(BeNumerically(">", brief))
	d.Eventually(func() *agentv1.Assignment { return d.port("pf1hpf").GetAssignment() }).Should(BeNil())
	d.Eventually(func() string { return d.vsctl("list-ports", "br-int") }).Should(Equal("pf0hpf"))
	d.Expect(d.port("pf0hpf").GetAssignment()).NotTo(BeNil())
}

func TestLease_endsWhileOpenVSwitchIsGone(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	_, err := d.attach("pf1hpf", "h3", brief)
	d.Expect(err).NotTo(HaveOccurred())
	d.kill("ovsdb-server") // the flows continue
	d.Eventually(d.isDown).WithArguments("pf1hpf").WithTimeout(brief + patience).Should(BeTrue())
	d.cutOff("h2", "h3")
	d.Eventually(func() string { return d.port("pf1hpf").GetProblem() }).WithTimeout(patience).ShouldNot(BeEmpty())

	d.startDatabase()
	d.Eventually(func() string { return d.port("pf1hpf").GetProblem() }).WithTimeout(patience).Should(BeEmpty())
	d.Expect(d.vsctl("list-ports", "br-int")).To(Equal("pf0hpf"))
}

func TestLease_hasEndedWhileTheAgentWasGone(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	ends := time.Now().Add(brief)
	_, err := d.attach("pf1hpf", "h3", brief)
	d.Expect(err).NotTo(HaveOccurred())
	d.endAgent(syscall.SIGKILL)
	d.waitUntil(ends)
	d.reaches("h2", "h3") // without an agent it stays attached
	d.startAgent()
	d.Eventually(d.isDown).WithArguments("pf1hpf").WithTimeout(patience).Should(BeTrue())
	d.cutOff("h2", "h3")
}

func TestLedger_lostIsolatesEverybody(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	generation := d.port("pf0hpf").GetGeneration()
	d.endAgent(syscall.SIGKILL)
	d.Expect(os.WriteFile(filepath.Join(d.dir, "state", "ledger.json"), []byte(`{"format":1,"ports":{"pf0`), 0o600)).To(Succeed())
	d.startAgent()
	d.Eventually(d.isDown).WithArguments("pf0hpf").WithTimeout(patience).Should(BeTrue())
	d.cutOff("h2", "h3")
	d.Eventually(func() string { return d.vsctl("list-br") }).WithTimeout(patience).Should(Equal("br-transport"))
	d.Expect(d.port("pf0hpf").GetGeneration()).To(BeNumerically(">", generation))

	// The controller attaches the hosts again.
	for port, host := range map[string]string{"pf0hpf": "h2", "pf1hpf": "h3"} {
		_, err := d.attach(port, host, time.Hour)
		d.Expect(err).NotTo(HaveOccurred())
	}
	d.reaches("h2", "h3")
}
