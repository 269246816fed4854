package cluster_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// As TestOwnVPC_isNotDeletedThoughAnAttemptMadeIt, and the create is still running: the service answers it after the user has named the VPC
// and has deleted the cluster.
func TestOwnVPC_isNotDeletedThoughARunningCreateMakesIt(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, func(w *sim.Config) { w.Times.Create.Duration = 12000 * time.Second })
	object := f.CreateCluster("demo")
	var id string
	f.Eventually(func() ledgerv1.State {
		l := f.Ledger(object)
		if l == nil || l.Entry("vpc") == nil {
			return ""
		}
		id = l.Entry("vpc").Token // a VPC's ID
		return l.Entry("vpc").State
	}).Should(Equal(ledgerv1.Pending))
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC = infrav1.VPCSpec{ID: id} })
	f.Eventually(func() []string {
		if e := f.Ledger(object).Entry("vpc"); e != nil {
			return e.Theirs
		}
		return nil
	}).Should(ContainElement(id), "recorded")
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Called("createVpc")).To(Equal(1))
	f.Expect(f.Called("deleteVpc")).To(BeZero(), "spec.vpc.id names it")
}
