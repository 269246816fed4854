package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// The user keeps the group that the cluster has made: names it, and takes our labels off. Until then it stays the cluster's.
func TestGroup_thatTheUserKeeps(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", withGroup)
	f.UntilReady(object)
	id := object.Status.NetworkSecurityGroupID
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{ID: id}
	})
	f.UntilReason(object, infrav1.NSGReadyCondition, "ClaimChanged", "network security group "+id+" was created for this object")
	f.Expect(f.Called("deleteNetworkSecurityGroup")).To(BeZero())
	_, err := f.API().UpdateNetworkSecurityGroup(t.Context(), sim.DefaultSiteID, id, bmm.NetworkSecurityGroupUpdateRequest{Labels: &bmm.Labels{}})
	f.Expect(err).NotTo(HaveOccurred())
	f.Eventually(func() bool {
		return f.Ledger(object).Entry("group/"+id) != nil && f.Ledger(object).Entry("group") == nil
	}).Should(BeTrue())
	f.UntilReady(object)
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Called("deleteNetworkSecurityGroup")).To(BeZero())
	f.Expect(f.Sim.State().NetworkSecurityGroups).To(ConsistOf(HaveField("ID", id)))
}

// It goes with the cluster if the labels stay.
func TestGroup_thatTheUserOnlyNames(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", withGroup)
	f.UntilReady(object)
	id := object.Status.NetworkSecurityGroupID
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{ID: id}
	})
	f.UntilReason(object, infrav1.NSGReadyCondition, "ClaimChanged", "to keep it as your own")
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}
