package cluster_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	"github.com/bedplate/bedplate/internal/simulator"
)

// The answer to the create is lost, and the service does it late. The user has named the VPC by then: it stays the cluster's.
func TestOwnVPC_isNotWhatAnAttemptHasMade(t *testing.T) {
	t.Parallel()
	f := bmmtest.StartPaced(t, bmmtest.Poll, 8*time.Second)
	f.Fault(simulator.Fault{
		Operation: "createVpc", Kind: simulator.FaultCommitLate,
		Hold: metav1.Duration{Duration: time.Minute}, Delay: metav1.Duration{Duration: 4000 * time.Second},
	})
	object := f.CreateCluster("demo")
	// First the call: an intention may be taken back before it, and the next one has another token.
	f.Eventually(func() int { return f.Called("createVpc") }).Should(BeNumerically(">", 0))
	entry := f.Ledger(object).Entry("vpc")
	f.Expect(entry.State).To(Equal(ledgerv1.Pending))
	id := entry.Token // a VPC's ID
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC = infrav1.VPCSpec{ID: id} })
	f.UntilReason(object, infrav1.VPCReadyCondition, "ClaimChanged", "VPC "+id+" was created for this object")
	f.Expect(f.Called("deleteVpc")).To(BeZero(), "spec.vpc.id names it")
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC = infrav1.VPCSpec{} })
	f.UntilReady(object)
	f.Expect(object.Status.VPCID).To(Equal(id))
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}
