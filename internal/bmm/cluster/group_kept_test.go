package cluster_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
)

// As TestGroup_thatTheUserKeeps, while the VPC can't be created yet and the site can't be read for a moment.
func TestGroup_thatTheUserKeepsWhileTheSiteIsNotRead(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.Refuse(http.StatusPreconditionFailed, "createVpc")
	object := f.CreateCluster("demo", withGroup)
	f.UntilReason(object, infrav1.VPCReadyCondition, "Busy", "")
	id := object.Status.NetworkSecurityGroupID
	f.Expect(id).NotTo(BeEmpty())
	f.Expect(f.Sim.State().NetworkSecurityGroups).To(HaveLen(1))
	f.Expect(f.Called("deleteNetworkSecurityGroup")).To(BeZero())
	f.Refuse(http.StatusPreconditionFailed, "getSite")
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{ID: id}
	})
	tried := f.Called("getSite")
	f.Eventually(func() int { return f.Called("getSite") }, time.Minute).Should(BeNumerically(">", tried+2))
	f.Expect(f.Called("deleteNetworkSecurityGroup")).To(BeZero(), "the spec has it as the user's own: %+v", f.Sim.State().NetworkSecurityGroups)
}
