package graph

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
)

// Times in the ledger have no reading of the monotonic clock, which stands still while a machine is suspended. How long ago one was
// is computed by the wall clock then, as in the next process.
func TestNow_isByTheWallClockOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before := clock.RealClock{}.Now()
	now := decision{now: before}.stamp().Time
	g.Expect(before).NotTo(Equal(before.Round(0)), "otherwise this proves nothing")
	g.Expect(now).To(Equal(now.Round(0)))
	g.Expect(now).To(BeTemporally("~", before, time.Minute))
}
