package graph_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A service may continue with what its client hasn't waited for: better not to begin than to leave before a usual answer
// comes.
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
