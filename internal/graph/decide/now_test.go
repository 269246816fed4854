package decide

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// Times in the ledger have no reading of the monotonic clock, which stops while a machine is suspended. So ages are computed by the
// wall clock, as in the next process.
func TestNow_isByTheWallClockOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before := clock.RealClock{}.Now()
	now := decision{now: before}.stamp().Time
	g.Expect(before).NotTo(Equal(before.Round(0)), "otherwise this proves nothing")
	g.Expect(now).To(Equal(now.Round(0)))
	g.Expect(now).To(BeTemporally("~", before, time.Minute))
}

// The process that led before has a clock that is behind: by this one's, its attempt looks settled.
func TestSettle_countsFromWhenThisProcessLeads(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := traits{tagged: true, claims: []uint8{claimCreate}}.wish(claimCreate)
	pending := &ledgerv1.Entry{Kind: "thing", Condition: "Ready", State: ledgerv1.Pending, Token: "2", At: stampOf(3)}
	s := Sight{Began: epoch, Listed: true, Twice: true, Turn: TurnGranted}
	g.Expect(Next(w, pending, s, epoch).Verb).To(Equal(Prepare))
	w.Leads = epoch.Add(-settled / 2)
	g.Expect(Next(w, pending, s, epoch).Phase.Reason).To(Equal("Settling"))
}
