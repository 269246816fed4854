package graph_test

import (
	"testing"
	"time"
	"unsafe"

	. "github.com/onsi/gomega"
)

// suspend returns a time as a clock shows it after a machine was suspended: the monotonic clock has stood still.
func suspend(before time.Time, seconds uint64) time.Time {
	after := before
	wall := (*uint64)(unsafe.Pointer(&after)) // package time has no way to set one without the other
	*wall += seconds << 30
	return after
}

// The next process goes by the wall clock, too.
func TestCreate_isNotSentAfterItsDeadlineByTheWallClock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createTimeout = settle / 3
	before := f.clock.Now()
	after := suspend(before, 100)
	f.Expect(after.Sub(before)).To(BeZero())
	f.Expect(after.Round(0).Sub(before.Round(0))).To(Equal(100 * time.Second))
	f.write = func() error {
		f.clock.SetTime(after)
		return nil
	}
	_, err := f.reconcile()
	f.Expect(err).To(MatchError(ContainSubstring("not sent")))
	f.Expect(f.service.keys()).NotTo(ContainElement("net"), "what was intended before that")
}

// A service may go on with what its client hasn't waited for: better not to begin than to leave before a usual answer comes.
func TestCreate_isNotSentWhenTooLittleTimeIsLeftForTheAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createTimeout = settle / 2
	f.below = nil
	slow := settle / 6
	f.write = func() error {
		f.clock.Step(slow) // the API server's answer
		return nil
	}
	_, err := f.reconcile()
	f.Expect(err).To(MatchError(ContainSubstring("not sent")))
	f.Expect(f.service.keys()).To(BeEmpty())

	slow = settle / 20
	_, err = f.reconcile()
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(f.service.keys()).To(ConsistOf("net", "lonely"))
}
