package overlay_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/localstack/fabric"
)

// sbctl speaks to a group's southbound database from a DPU, with the files of a DPU.
func (c central) sbctl(from, as string, args ...string) error {
	c.t.Helper()
	c.Expect(c.client.Get(c.t.Context(), keyOf(c.group), c.group)).To(Succeed())
	state := filepath.Join(c.RunDir(as), "agent")
	return c.Command(c.t.Context(), from, "ovn-sbctl", append([]string{
		"--db=" + c.group.Status.SoftwareNetworkConfiguration.Southbound, "--timeout=2", "--private-key=" + filepath.Join(state, "southbound.key"),
		"--certificate=" + filepath.Join(state, "southbound.crt"), "--ca-cert=" + filepath.Join(state, "southbound-ca.crt"),
	}, args...)...).Run()
}

func TestTLS_aDPUReachesItsOwnGroupOnly(t *testing.T) {
	t.Parallel()
	s := up(t, fabric.Flat(3))
	blue, red := central{s, s.group("blue")}, central{s, s.group("red")}
	s.ready(s.join("blue", "host1", "10.10.10.2"), s.join("blue", "host2", "10.10.10.3"), s.join("red", "host3", "10.10.10.2"))

	answers := func(as func() error) { t.Helper(); s.Eventually(as).Should(Succeed()) } // two seconds aren't enough at any time
	answers(func() error { return blue.sbctl("dpu1", "dpu1", "set", "Chassis", "dpu1", "external_ids:a=b") })
	s.Expect(blue.group.Status.SoftwareNetworkConfiguration.Southbound).To(HavePrefix("ssl:"))
	answers(func() error { return red.sbctl("dpu3", "dpu3", "get-connection") })
	s.Expect(blue.sbctl("dpu1", "dpu1", "set", "Chassis", "dpu2", "external_ids:a=b")).NotTo(Succeed(), "another DPU's row")
	s.Expect(blue.sbctl("dpu1", "dpu1", "chassis-del", "dpu2")).NotTo(Succeed(), "another DPU")
	s.Expect(blue.sbctl("dpu3", "dpu3", "get-connection")).NotTo(Succeed(), "another group")
	s.Expect(red.sbctl("dpu1", "dpu1", "get-connection")).NotTo(Succeed(), "another group")
	for _, file := range []string{"southbound.key", "southbound.crt"} {
		info, err := os.Stat(filepath.Join(s.RunDir("dpu1"), "agent", file))
		s.Expect(err).NotTo(HaveOccurred())
		s.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	}
}

// All certificates of a group become others: its authority's, the database's, the DPUs'.
func TestTLS_rotationLosesNoPacket(t *testing.T) {
	t.Parallel()
	p := upPair(t, fabric.Flat(2))
	before, controller := p.central.pid("sb"), p.pidIn(filepath.Join(p.RunDir("dpu1"), "ovn-controller.pid"))
	packets, _ := p.lost(func() {
		old, err := os.ReadFile(p.central.file("ca.crt"))
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(os.Remove(p.central.file("ca.crt"))).To(Succeed())
		p.Eventually(func(g Gomega) {
			authority, err := os.ReadFile(p.central.file("ca.crt"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(authority).NotTo(Equal(old))
			for _, dpu := range []string{"dpu1", "dpu2"} {
				g.Expect(os.ReadFile(filepath.Join(p.RunDir(dpu), "agent", "southbound-ca.crt"))).To(Equal(authority), dpu)
			}
		}).Should(Succeed())
		said, err := exec.CommandContext(t.Context(), "ovs-appctl", "-t", p.central.file("sb.ctl"), "ovsdb-server/reconnect").CombinedOutput()
		p.Expect(err).NotTo(HaveOccurred(), "%s", said)
		p.Eventually(func() error { return p.central.sbctl("dpu1", "dpu1", "get-connection") }).Should(Succeed())
		p.central.inFlows("dpu1", "dpu2")
		p.ready(p.one, p.two)
	})
	p.Expect(packets).To(BeZero())
	p.Expect(p.central.pid("sb")).To(Equal(before))
	p.Expect(p.pidIn(filepath.Join(p.RunDir("dpu1"), "ovn-controller.pid"))).To(Equal(controller))
}

// How a data centre whose agents were older than TLS comes to it.
func TestTLS_afterPlaintextLosesNoPacket(t *testing.T) {
	t.Parallel()
	p := upPair(t, fabric.Flat(2), "--southbound-plaintext")
	p.Expect(p.client.Get(t.Context(), keyOf(p.group), p.group)).To(Succeed())
	p.Expect(p.group.Status.SoftwareNetworkConfiguration.Southbound).To(HavePrefix("tcp:"))
	packets, _ := p.lost(func() {
		p.Kill(fabric.Control)
		p.Expect(p.StartManager(t.Context(), "--southbound-plaintext=false")).To(Succeed())
		p.Eventually(func() error { return p.central.sbctl("dpu2", "dpu2", "get-connection") }).Should(Succeed())
		p.Eventually(func() string {
			p.Expect(p.client.Get(t.Context(), keyOf(p.group), p.group)).To(Succeed())
			return p.group.Status.SoftwareNetworkConfiguration.Southbound
		}).Should(HavePrefix("ssl:"))
		p.central.inFlows("dpu1", "dpu2")
		p.ready(p.one, p.two)
	})
	p.Expect(packets).To(BeZero())
}
