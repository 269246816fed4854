package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/speaker/lease"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
)

// brief makes neighbors forget soon.
func brief(s *networkfabricv1.BGPConfigurationSpec) {
	s.RestartTime.Duration, s.Neighbors[0].HoldTime.Duration = 4*time.Second, 3*time.Second
}

// A neighbor that can't get the withdrawal keeps the route; the address must not be reassigned before it has expired.
func TestSpeaker_keepsItsNameWhileANeighborCannotBeTold(t *testing.T) {
	w := newWorld(t)
	w.configure(brief)
	w.speaker(1)
	ip := w.publicIP("203.0.113.100", hop)
	w.Eventually(w.routes).WithTimeout(patience).Should(HaveLen(1))
	w.established(1, router)

	w.Expect(w.fabric.Cut("speaker1", "eth0")).To(Succeed())
	w.Eventually(w.session(1, router)).WithTimeout(patience).Should(HaveField("State", Not(Equal("Established"))))
	w.setNextHop(ip, "")
	began := time.Now()
	w.Eventually(func(g Gomega) {
		names, err := w.announcedBy(ip)()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(names).To(BeEmpty())
		known, err := w.router.Routes(t.Context()) // stale ones too
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(known).To(BeEmpty())
	}).WithTimeout(patience).Should(Succeed())
	t.Logf("the name was taken away after %s", time.Since(began))
	w.Expect(time.Since(began)).To(BeNumerically(">", 4*time.Second))
}

// Packets matter more than the API server, until others may count this speaker as silent.
func TestSpeaker_withoutTheAPIServerWithdrawsInTime(t *testing.T) {
	w := newWorld(t)
	w.configure(brief, func(s *networkfabricv1.BGPConfigurationSpec) { s.RestartTime.Duration = 10 * time.Second })
	w.speaker(1)
	ip := w.publicIP("203.0.113.110", hop)
	known := HaveKeyWithValue("203.0.113.110/32", by(addressOf(1), hop))
	w.Eventually(w.routes).WithTimeout(patience).Should(known)
	lost := w.watchRoute(fabric.Router, "203.0.113.110/32")
	w.Expect(w.api[0].Close()).To(Succeed())
	began := time.Now()
	w.Consistently(w.routes).WithTimeout(2 * lease.Interval).WithPolling(look).Should(known)
	w.Expect(lost.Load()).To(BeZero(), "how often the route was lost")
	w.Eventually(w.routes).WithTimeout(patience).Should(BeEmpty())

	l, configuration := &coordinationv1.Lease{}, &networkfabricv1.BGPConfiguration{}
	w.Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: lease.Name(w.name(1))}, l)).To(Succeed())
	w.Expect(w.client.Get(t.Context(), client.ObjectKey{Name: w.configuration}, configuration)).To(Succeed())
	t.Logf("withdrawn %s after the last renewal, %s after the API server was lost", time.Since(l.Spec.RenewTime.Time), time.Since(began))
	memory := lease.Memory(configuration.Spec)
	w.Expect(lease.Recorded(l)).To(BeNumerically(">=", memory))
	w.Expect(time.Since(l.Spec.RenewTime.Time)).To(BeNumerically("<", lease.Silence(l, memory)-lease.Recorded(l)))
	w.Expect(lease.Silent(l, memory, time.Now())).To(BeFalse())

	w.apiServer("speaker1")
	w.Eventually(w.routes).WithTimeout(2 * patience).Should(known)
	w.Expect(w.announcedBy(ip)()).To(HaveExactElements(w.name(1)))
}
