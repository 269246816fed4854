package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
)

// The user keeps the group that the cluster has made, and says so: a group of the user's own is never changed or deleted.
func TestGroup_thatTheUserKeeps(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", withGroup)
	f.UntilReady(object)
	id := object.Status.NetworkSecurityGroupID
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{ID: id}
	})
	f.Eventually(func() bool {
		return f.Ledger(object).Entry("group/"+id) != nil && f.Ledger(object).Entry("group") == nil
	}).Should(BeTrue())
	f.UntilReady(object)
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Called("deleteNetworkSecurityGroup")).To(BeZero())
	f.Expect(f.Sim.State().NetworkSecurityGroups).To(ConsistOf(HaveField("ID", id)))
}
