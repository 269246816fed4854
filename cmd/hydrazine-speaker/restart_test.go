package main

import (
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

const stopGrace = 10 * time.Second

// traffic from the internet to a public IP, all of which has to be answered, by a route that is never lost.
type traffic struct {
	*world
	stream *probe.Stream
	lost   *atomic.Int32
}

func (w *world) traffic(address string) *traffic {
	w.Helper()
	w.giveAddress(address)
	p := probe.Probe{From: "internet", Protocol: probe.ICMP, To: netip.AddrPortFrom(netip.MustParseAddr(address), 0), Patience: patience}
	_, err := w.fabric.Reach(w.Context(), p)
	w.Expect(err).NotTo(HaveOccurred())
	lost := w.watchRoute(fabric.Router, address+"/32")
	stream, err := w.fabric.Stream(w.Context(), p)
	w.Expect(err).NotTo(HaveOccurred())
	return &traffic{world: w, stream: stream, lost: lost}
}

// expectNothingLost continues for a while: what is remembered only for a time is forgotten then.
func (tr *traffic) expectNothingLost(while time.Duration) {
	tr.Helper()
	tr.Consistently(tr.lost.Load).WithTimeout(while).Should(BeZero(), "how often the route was lost")
	report, err := tr.stream.Stop()
	tr.Expect(err).NotTo(HaveOccurred())
	tr.Logf("%s", report)
	tr.Expect(report.Lost).To(BeZero())
	tr.Expect(tr.lost.Load()).To(BeZero())
}

func TestSpeaker_theDeathOfOneOfTwoLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) { s.RestartTime.Duration = 3 * time.Second })
	first := w.speaker(1)
	w.speaker(2)
	ip := w.publicIP("203.0.113.20", hop)
	both := map[string]string{addressOf(1): hop, addressOf(2): hop}
	w.Eventually(w.routes).WithTimeout(patience).Should(HaveKeyWithValue("203.0.113.20/32", both))
	w.Expect(w.announcedBy(ip)()).To(ConsistOf(w.name(1), w.name(2)))
	tr := w.traffic("203.0.113.20")

	first.Kill()
	w.Eventually(w.routes).WithTimeout(patience).Should(HaveKeyWithValue("203.0.113.20/32", by(addressOf(2), hop)))
	w.Eventually(func() (int, error) { // past the restart time
		all, err := w.router.Routes(t.Context())
		return len(all["203.0.113.20/32"]), err
	}).WithTimeout(patience).Should(Equal(1))
	w.speaker(1)
	w.Eventually(w.routes).WithTimeout(patience).Should(HaveKeyWithValue("203.0.113.20/32", both))
	tr.expectNothingLost(time.Second)
}

// Its neighbor keeps the routes, however a speaker ended, until the new one has sent the end-of-RIB marker.
func TestSpeaker_theRestartOfTheOnlyOneLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.configure()
	only := w.speaker(1)
	kept, gone := w.publicIP("203.0.113.30", hop), w.publicIP("203.0.113.31", hop)
	w.Eventually(w.routes).WithTimeout(patience).Should(HaveLen(2))
	tr := w.traffic("203.0.113.30")

	only.Kill()
	w.setNextHop(gone, "") // while no speaker is running to withdraw it
	w.Consistently(w.announcedBy(gone)).WithTimeout(time.Second).Should(HaveLen(1))
	only = w.speaker(1)
	exactly := map[string]map[string]string{"203.0.113.30/32": by(addressOf(1), hop)}
	w.Eventually(w.routes).WithTimeout(patience).Should(Equal(exactly))
	w.Eventually(w.announcedBy(gone)).WithTimeout(patience).Should(BeEmpty())
	w.Expect(w.router.Preserved(t.Context(), addressOf(1))).To(BeTrue())

	only.Stop(stopGrace)
	w.speaker(1)
	w.established(1, router)
	w.Eventually(w.routes).WithTimeout(patience).Should(Equal(exactly))
	w.Expect(w.announcedBy(kept)()).To(HaveExactElements(w.name(1)))
	tr.expectNothingLost(2 * time.Second)
}

func TestSpeaker_theRestartOfBothInTurnLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.configure()
	running := map[int]interface{ Stop(time.Duration) }{1: w.speaker(1), 2: w.speaker(2)}
	w.publicIP("203.0.113.40", hop)
	both := HaveKeyWithValue("203.0.113.40/32", map[string]string{addressOf(1): hop, addressOf(2): hop})
	w.Eventually(w.routes).WithTimeout(patience).Should(both)
	tr := w.traffic("203.0.113.40")
	for _, n := range []int{1, 2} {
		running[n].Stop(stopGrace)
		w.Eventually(w.routes).WithTimeout(patience).ShouldNot(both)
		w.speaker(n)
		w.Eventually(w.routes).WithTimeout(patience).Should(both)
	}
	tr.expectNothingLost(2 * time.Second)
}

// Nothing but the connection is lost, and it comes back.
func TestSpeaker_aBrokenConnectionLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.configure()
	w.speaker(1)
	w.publicIP("203.0.113.45", hop)
	w.established(1, router)
	tr := w.traffic("203.0.113.45")
	before, err := w.session(1, router)()
	w.Expect(err).NotTo(HaveOccurred())

	w.killConnections("speaker1")
	w.Eventually(w.session(1, router)).WithTimeout(patience).Should(And(
		HaveField("State", "Established"), HaveField("Since.Time", BeTemporally(">", before.Since.Time))))
	w.Expect(w.router.Preserved(t.Context(), addressOf(1))).To(BeTrue())
	w.Eventually(w.routes).WithTimeout(patience).Should(HaveKeyWithValue("203.0.113.45/32", by(addressOf(1), hop)))
	tr.expectNothingLost(2 * time.Second)
}

// A change that concerns all sessions is a graceful restart of them.
func TestSpeaker_anotherRestartTimeLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.configure()
	w.speaker(1)
	w.publicIP("203.0.113.50", hop)
	w.established(1, router)
	tr := w.traffic("203.0.113.50")
	before, err := w.session(1, router)()
	w.Expect(err).NotTo(HaveOccurred())

	w.configure(func(s *networkfabricv1.BGPConfigurationSpec) { s.RestartTime.Duration = 40 * time.Second })
	w.Eventually(w.session(1, router)).WithTimeout(patience).Should(And(
		HaveField("State", "Established"), HaveField("Since.Time", BeTemporally(">", before.Since.Time))))
	tr.expectNothingLost(2 * time.Second)
}
