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
	lease := 3 * time.Second
	granted := time.Now()
	_, err := d.attach("pf1hpf", "h3", lease)
	d.Expect(err).NotTo(HaveOccurred())
	d.Expect(d.pings("h2", "h3")()).To(BeTrue())
	d.Eventually(d.pings("h2", "h3")).WithTimeout(patience).Should(BeFalse())
	d.Expect(time.Since(granted)).To(BeNumerically(">", lease))
	d.Eventually(func() *agentv1.Assignment { return d.port("pf1hpf").GetAssignment() }).Should(BeNil())
	d.Eventually(func() string { return d.vsctl("list-ports", "br-int") }).Should(Equal("pf0hpf"))
	d.Expect(d.port("pf0hpf").GetAssignment()).NotTo(BeNil())
}

func TestLease_endsWhileOpenVSwitchIsGone(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	_, err := d.attach("pf1hpf", "h3", 3*time.Second)
	d.Expect(err).NotTo(HaveOccurred())
	d.kill("ovsdb-server") // the flows continue
	d.Eventually(d.isDown).WithArguments("pf1hpf").WithTimeout(patience).Should(BeTrue())
	d.cutOff("h2", "h3")
	d.Eventually(func() string { return d.port("pf1hpf").GetProblem() }).WithTimeout(patience).ShouldNot(BeEmpty())

	d.startDatabase()
	d.Eventually(func() string { return d.port("pf1hpf").GetProblem() }).WithTimeout(patience).Should(BeEmpty())
	d.Expect(d.vsctl("list-ports", "br-int")).To(Equal("pf0hpf"))
}

func TestLease_hasEndedWhileTheAgentWasGone(t *testing.T) {
	t.Parallel()
	d := dpuWith(t, "h2", "h3")
	lease := 10 * time.Second // longer than an attachment takes
	ends := time.Now().Add(lease)
	_, err := d.attach("pf1hpf", "h3", lease)
	d.Expect(err).NotTo(HaveOccurred())
	d.endAgent(syscall.SIGKILL)
	d.Eventually(time.Now).WithTimeout(patience).Should(BeTemporally(">", ends))
	d.Expect(d.pings("h2", "h3")()).To(BeTrue(), "without an agent nobody ends it")
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
	d.Eventually(d.pings("h2", "h3")).WithTimeout(patience).Should(BeTrue())
}
