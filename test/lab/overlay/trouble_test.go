package overlay_test

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

// pair is two hosts of one group, over two DPUs, with packets going to and fro.
type pair struct {
	*stack
	central  central
	group    *resourcev1.ResourceGroup
	one, two *resourcev1.ManagedResource
}

func upPair(t *testing.T, topology fabric.Topology, flags ...string) *pair {
	t.Helper()
	p := &pair{stack: up(t, topology, flags...)}
	p.group = p.stack.group("blue")
	p.central = central{p.stack, p.group}
	p.one, p.two = p.join("blue", "host1", "10.10.10.2"), p.join("blue", "host2", "10.10.10.3")
	p.ready(p.one, p.two)
	p.serve("host1", "host2")
	p.reached("", func() (netip.Addr, error) { return p.pings("host1", "10.10.10.3") }) // the first packet is lost to ARP
	return p
}

// lost says how many packets are lost between the hosts while something happens, and for how long none gets through.
func (p *pair) lost(while func()) (packets int, gap time.Duration) {
	p.t.Helper()
	report := p.lostBetween("host1", "10.10.10.3", while)
	return report.Lost, report.LongestGap
}

// comesBack waits until another central than the one before is connected to all DPUs.
func (p *pair) comesBack(before int) {
	p.t.Helper()
	p.Eventually(func(g Gomega) {
		data, err := os.ReadFile(p.central.file("sb.pid"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.TrimSpace(string(data))).NotTo(BeElementOf("", strconv.Itoa(before)))
	}).Should(Succeed())
	p.central.inFlows("dpu1", "dpu2")
	p.becomes(p.group, resourcev1.ReadyCondition, metav1.ConditionTrue, "")
	p.ready(p.one, p.two)
}

func TestCentral_killedLosesNoPacket(t *testing.T) {
	t.Parallel()
	p := upPair(t, fabric.Flat(2))
	before := p.central.pid("sb")
	packets, _ := p.lost(func() {
		p.central.signal(syscall.SIGKILL)
		p.comesBack(before)
	})
	p.Expect(packets).To(BeZero())
}

func TestCentral_wipedLosesLessThanASecond(t *testing.T) {
	t.Parallel()
	p := upPair(t, fabric.Flat(2))
	var gaps []time.Duration
	for range 5 { // the shortest is what OVN needs: any may be longer while the processors are busy
		before := p.central.pid("sb")
		_, gap := p.lost(func() {
			p.central.wipe()
			p.comesBack(before)
		})
		if gaps = append(gaps, gap); gap <= time.Second {
			break
		}
	}
	p.Expect(slices.Min(gaps)).To(BeNumerically("<=", time.Second), "%s", gaps)
	p.reached("", func() (netip.Addr, error) { return p.connects("host2", "10.10.10.2") })
}

func TestDelete_isolatesWhileTheCentralHangs(t *testing.T) {
	t.Parallel()
	p := upPair(t, fabric.Flat(2))
	p.central.signal(syscall.SIGSTOP)
	t.Cleanup(func() { p.central.signal(syscall.SIGCONT) })
	p.Expect(p.client.Delete(t.Context(), p.two)).To(Succeed())
	p.Eventually(func() error { return p.client.Get(t.Context(), keyOf(p.two), p.two) }).Should(MatchError(ContainSubstring("not found")))
	p.silent(p.pings("host1", "10.10.10.3"))
	p.silent(p.connects("host2", "10.10.10.2"))
}

// lease is so long that what has to happen before its end does so on a busy machine. The manager waits for a tenth of it more than the
// DPU does.
const lease = 30 * time.Second

func TestHost_isIsolatedWhenTheControllerIsDeadForLong(t *testing.T) {
	t.Parallel()
	p := upPair(t, fabric.Flat(2), "--lease="+lease.String())
	p.Kill(fabric.Control)
	p.Expect(p.client.Delete(t.Context(), p.two)).To(Succeed())
	packets, _ := p.lost(func() {})
	p.Expect(packets).To(BeZero(), "a short outage drops nothing")
	p.Eventually(func() error { _, err := p.pings("host1", "10.10.10.3"); return err }).WithTimeout(lease + patience).
		Should(MatchError(probe.ErrNoAnswer))
	p.silent(p.connects("host2", "10.10.10.2"))

	p.Expect(p.StartManager(t.Context())).To(Succeed())
	p.Eventually(func() error { return p.client.Get(t.Context(), keyOf(p.two), p.two) }).Should(MatchError(ContainSubstring("not found")))
	p.ready(p.one)
}

func TestAgent_killedLosesNoPacket(t *testing.T) {
	t.Parallel()
	p := upPair(t, fabric.Flat(2))
	packets, _ := p.lost(func() {
		p.Kill("dpu2")
		p.becomes(p.two, resourcev1.AttachedCondition, metav1.ConditionUnknown, "AgentUnreachable")
		p.Expect(p.StartAgent(t.Context(), "dpu2")).To(Succeed())
		p.ready(p.two)
	})
	p.Expect(packets).To(BeZero())
}

func TestOVNController_killedLosesNoPacketAndIsStartedAgain(t *testing.T) {
	t.Parallel()
	p := upPair(t, fabric.Flat(2))
	file := filepath.Join(p.RunDir("dpu2"), "ovn-controller.pid")
	before := p.pidIn(file)
	packets, _ := p.lost(func() {
		p.Expect(syscall.Kill(before, syscall.SIGKILL)).To(Succeed())
		p.Eventually(func(g Gomega) {
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strings.TrimSpace(string(data))).NotTo(BeElementOf("", strconv.Itoa(before)))
		}).Should(Succeed())
		p.central.inFlows("dpu1", "dpu2") // which the new one says when it has replaced the flows of the old one
		p.ready(p.two)
	})
	p.Expect(packets).To(BeZero())
}

// The finalizer stays until the lease has ended, and the host is isolated then, although no agent could confirm it.
func TestDelete_ofAHostWhoseAgentIsCutOff(t *testing.T) {
	t.Parallel()
	p := upPair(t, fabric.Flat(2), "--lease="+lease.String())
	p.Expect(p.Cut("dpu2", fabric.NIC(0))).To(Succeed())
	p.Expect(p.client.Delete(t.Context(), p.two)).To(Succeed())
	p.becomes(p.two, resourcev1.AttachedCondition, metav1.ConditionFalse, "Isolating")
	p.Eventually(func() error { return p.client.Get(t.Context(), keyOf(p.two), p.two) }).WithTimeout(lease + patience).
		Should(MatchError(ContainSubstring("not found")))
	// Its rows have gone before, so packets alone would not show whether the DPU itself has cut the host off.
	p.Expect(p.Do("dpu2", func() error {
		port, err := net.InterfaceByName(fabric.Port(0))
		p.Expect(err).NotTo(HaveOccurred())
		p.Expect(port.Flags&net.FlagUp).To(BeZero(), "the cable to the host is out")
		return nil
	})).To(Succeed())
	p.Eventually(func() (string, error) {
		bridges, err := exec.Command("ovs-vsctl", "--timeout=10", "--db=unix:"+p.Database("dpu2"), "list-br").Output()
		return string(bridges), err
	}).Should(And(ContainSubstring("br-transport"), Not(ContainSubstring("br-int"))))
	p.Expect(p.Mend("dpu2", fabric.NIC(0))).To(Succeed())
	p.silent(p.pings("host1", "10.10.10.3"))
}

func TestFabric_thatWasCutIsUsedAgain(t *testing.T) {
	t.Parallel()
	p := upPair(t, fabric.Flat(2))
	p.Expect(p.Cut("dpu2", fabric.NIC(0))).To(Succeed())
	p.becomes(p.two, resourcev1.AttachedCondition, metav1.ConditionUnknown, "AgentUnreachable")
	p.Expect(p.Mend("dpu2", fabric.NIC(0))).To(Succeed())
	p.ready(p.two)
	p.reached("", func() (netip.Addr, error) { return p.pings("host1", "10.10.10.3") })
}

func TestFabric_withTwoLinksLosesOne(t *testing.T) {
	t.Parallel()
	p := upPair(t, fabric.Bonded(2))
	for _, nic := range []string{fabric.NIC(0), fabric.NIC(1)} {
		p.Expect(p.Cut("dpu2", nic)).To(Succeed())
		p.reached("", func() (netip.Addr, error) { return p.pings("host1", "10.10.10.3") })
		p.Expect(p.Mend("dpu2", nic)).To(Succeed())
		p.ready(p.two)
	}
}
