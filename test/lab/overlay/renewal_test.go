package overlay_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/localstack/fabric"
	"github.com/bedplate/bedplate/internal/localstack/fabric/probe"
)

// forgetful keeps the agent of a DPU from writing anything down, so that it renews no lease, and says so. It returns what ends that.
func (s *stack) forgetful(dpu string) (mend func()) {
	s.t.Helper()
	ledger := filepath.Join(s.RunDir(dpu), "agent", "ledger.json")
	s.Eventually(func() error { // the agent may write in between; it reads only when it starts
		return errors.Join(os.Remove(ledger), os.Mkdir(ledger, 0o700))
	}).Should(Succeed())
	return func() { s.Expect(os.Remove(ledger)).To(Succeed()) }
}

// generations of a DPU's ports are others when a host was taken off, however soon it was back.
func (s *stack) generations(dpu string) map[string]uint64 {
	s.t.Helper()
	generations := map[string]uint64{}
	s.Eventually(func(g Gomega) {
		text, err := os.ReadFile(filepath.Join(s.RunDir(dpu), "agent", "ledger.json"))
		g.Expect(err).NotTo(HaveOccurred()) // it is there with the next renewal
		var ledger struct {
			Ports map[string]struct{ Generation uint64 }
		}
		g.Expect(json.Unmarshal(text, &ledger)).To(Succeed())
		for name, port := range ledger.Ports {
			generations[name] = port.Generation
		}
	}).Should(Succeed())
	return generations
}

// Each renewal fails once, and the next attempt makes it: no host is taken off its network. When they fail for good, hosts say so before
// their DPU isolates them; and another tenant's, with the same addresses, don't notice.
func TestLease_whoseRenewalsFailNowAndThenIsKept(t *testing.T) {
	t.Parallel()
	const term = 20 * time.Second // a renewal is due after a third: on a busy machine all of the rest may be needed
	s := up(t, fabric.TwoPorts(2), "--lease="+term.String())
	s.group("blue")
	s.group("red")
	blue := []*resourcev1.ManagedResource{s.join("blue", "host1", "10.10.10.2"), s.join("blue", "host2", "10.10.10.3")}
	red := []*resourcev1.ManagedResource{s.join("red", "host3", "10.10.10.2"), s.join("red", "host4", "10.10.10.3")}
	s.ready(blue...)
	s.ready(red...)
	s.serve("host2", "host4")
	crossing := func() (netip.Addr, error) { return s.pings("host1", "10.10.10.3") }
	s.reached("", crossing)
	s.reached("", func() (netip.Addr, error) { return s.pings("host3", "10.10.10.3") })
	refused := func() {
		for _, host := range blue {
			s.becomes(host, resourcev1.AttachedCondition, metav1.ConditionFalse, "AgentRefused")
		}
	}
	others := s.lostBetween("host3", "10.10.10.3", func() {
		before := s.generations("dpu1")
		own := s.lostBetween("host1", "10.10.10.3", func() {
			for began := time.Now(); time.Since(began) < term+time.Second; { // a lease that is never renewed has ended
				mend := s.forgetful("dpu1")
				refused()
				mend()
				for _, host := range blue {
					s.becomes(host, resourcev1.AttachedCondition, metav1.ConditionTrue, "")
				}
			}
		})
		s.Expect(own.Lost).To(BeZero())
		s.Expect(s.generations("dpu1")).To(Equal(before))

		mend := s.forgetful("dpu1")
		refused()
		s.reached("", crossing)
		s.Eventually(func() error { _, err := crossing(); return err }).Should(MatchError(probe.ErrNoAnswer))
		mend()
		s.ready(blue...)
		s.reached("", crossing)
	})
	s.Expect(others.Lost).To(BeZero())
	s.ready(red...)
}
