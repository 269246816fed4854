package machine_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// The cluster's group was replaced by one of the user's own, which is attached. The old one can't be deleted yet, because something else has it.
// That is no reason to hold new machines up, as with a subnet that left the spec: they don't use it.
func TestGroup_thatLeftTheSpecHoldsNoMachineUp(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	users := f.MakeGroup("users")
	cluster := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup = &group })
	f.UntilReady(cluster)
	old := cluster.Status.NetworkSecurityGroupID
	f.UntilReady(f.CreateMachine("demo", "worker-1", userData, func(m *infrav1.NvidiaBMMMachine) { m.Spec.Network.NetworkSecurityGroupID = old }))
	bmmtest.Change(f, cluster, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{ID: users}
	})
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(cluster)).To(Succeed())
		g.Expect(cluster.Status.NetworkSecurityGroupID).To(Equal(users))
		g.Expect(f.Called("deleteNetworkSecurityGroup")).NotTo(BeZero())
		c := meta.FindStatusCondition(cluster.Status.Conditions, infrav1.NSGReadyCondition)
		g.Expect(c.Status).To(Equal(metav1.ConditionFalse))
		t.Logf("%s: %s", c.Reason, c.Message)
	}).Should(Succeed())
	f.Expect(f.Sim.State().Enforced).To(HaveKeyWithValue(cluster.Status.VPCID, users))
	f.UntilReady(f.CreateMachine("demo", "worker-2", userData))
}

// The cluster's group has lost its tag and left the spec: nothing proves any more that it is ours, so it isn't deleted, and its condition says
// so. The VPC doesn't have it any more, and machines don't wait for it.
func TestGroup_thatLeftTheSpecWithoutItsTagHoldsNoMachineUp(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	cluster := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup = &group })
	f.UntilReady(cluster)
	heal := f.Refuse(http.StatusServiceUnavailable, "getNetworkSecurityGroup", "listNetworkSecurityGroups")
	_, err := f.API().UpdateNetworkSecurityGroup(t.Context(), sim.DefaultSiteID, cluster.Status.NetworkSecurityGroupID,
		bmm.NetworkSecurityGroupUpdateRequest{Labels: &bmm.Labels{"bedplate.dev/cluster": "another"}})
	f.Expect(err).NotTo(HaveOccurred())
	bmmtest.Change(f, cluster, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup = nil })
	f.Eventually(func(g Gomega) { // else the tag would be put back
		g.Expect(f.Read(cluster)).To(Succeed())
		g.Expect(meta.FindStatusCondition(cluster.Status.Conditions, infrav1.NSGReadyCondition).ObservedGeneration).To(Equal(cluster.Generation))
	}).Should(Succeed())
	heal()
	f.UntilReason(cluster, infrav1.NSGReadyCondition, "Failed", cluster.Status.NetworkSecurityGroupID)
	f.UntilReady(f.CreateMachine("demo", "worker-1", userData))
}
