package manager

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/leaderelection"
)

// There are never two leaders: one that can't renew its lease ends before another one may take it.
func TestLease_endsBeforeAnotherBegins(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(retries).To(Equal(1 + leaderelection.JitterFactor))
	for _, l := range []Lease{DefaultLease, QuickLease} {
		g.Expect(l.Duration).To(BeNumerically(">", l.RenewDeadline+time.Second))
		g.Expect(l.Duration).To(Equal(l.Duration.Truncate(time.Second)), "a Lease has whole seconds")
		g.Expect(l.RenewDeadline).To(BeNumerically(">", time.Duration(retries*float64(l.RetryPeriod))))
	}
	g.Expect(QuickLease.Duration).To(BeNumerically(">", QuickLease.Working()))
	g.Expect(QuickLease.Takeover()).To(BeNumerically("<", 9500*time.Millisecond), "some time is left to begin in")
}
