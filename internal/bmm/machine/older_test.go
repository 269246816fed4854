package machine_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
)

// A ledger from a backup has nothing in it, because the machine was paused when its create was about to begin. Its spec and status show
// the instance for good.
func TestDelete_withALedgerThatIsEmptyAndOlder(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo"))
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)
	f.Eventually(func() error {
		older := f.Ledger(object)
		older.Spec.Entries = nil
		return f.Client.Update(t.Context(), older)
	}).Should(Succeed())
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Instances).To(BeEmpty())
}
