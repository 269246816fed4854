package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
)

// The group that the cluster has made stays the cluster's when the spec names it.
func TestGroup_thatTheClusterMadeAndTheSpecNames(t *testing.T) {
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
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}
