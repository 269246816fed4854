package machine_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

var group = infrav1.NetworkSecurityGroupSpec{Rules: []infrav1.SecurityRule{
	{Name: "all", Direction: infrav1.Ingress, Protocol: infrav1.ProtocolAll, Action: infrav1.Allow},
}}

// attached is the instance's own group.
func attached(f *bmmtest.Fixture) func() string {
	return func() string { return f.Sim.State().Instances[0].NetworkSecurityGroupID }
}

// A VPC of the user's own isn't touched, so the cluster's group is attached to the machines in it.
func TestGroup_isAttachedToTheInstanceInAVPCOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	vpc := f.MakeVPC("users", bmm.EthernetVirtualizer)
	cluster := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC = infrav1.VPCSpec{ID: vpc, NetworkSecurityGroup: &group}
	})
	f.UntilReady(cluster)
	object := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(object)
	own := cluster.Status.NetworkSecurityGroupID
	f.Expect(own).NotTo(BeEmpty())
	f.Expect(attached(f)()).To(Equal(own))
	f.Expect(f.Called("updateInstance")).To(BeZero(), "it never was without")

	_, err := f.API().UpdateInstance(t.Context(), sim.DefaultSiteID, object.Status.InstanceID, bmm.InstanceUpdateRequest{NetworkSecurityGroupID: ptr.To("")})
	f.Expect(err).NotTo(HaveOccurred())
	f.Eventually(attached(f)).Should(Equal(own), "what was detached is attached again")
	f.Eventually(func() []string { return f.Events(object, "Changing") }).Should(ContainElement(
		And(ContainSubstring(object.Status.InstanceID), ContainSubstring("networkSecurityGroupId: add "+own))))

	users := f.MakeGroup("users")
	bmmtest.Change(f, cluster, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{ID: users}
	})
	f.Eventually(attached(f)).Should(Equal(users))
	f.Eventually(func() []bmm.NetworkSecurityGroup { return f.Sim.State().NetworkSecurityGroups }).Should(
		ConsistOf(HaveField("ID", users)), "the old one goes when the instance has the new one")
	bmmtest.Change(f, cluster, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup = nil })
	f.Eventually(attached(f)).Should(BeEmpty())
	f.UntilReady(object)
	f.UntilReady(cluster)
	f.Expect(f.Called("createInstance")).To(Equal(1))

	f.Delete(object)
	f.Delete(cluster)
	f.UntilGone(object)
	f.UntilGone(cluster)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

func TestGroup_ofTheVPCIsEnoughForItsInstances(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	f.UntilReady(f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup = &group }))
	f.UntilReady(f.CreateMachine("demo", "worker-1", userData))
	instance := f.Sim.State().Instances[0]
	f.Expect(instance.NetworkSecurityGroupID).To(BeEmpty())
	f.Expect(instance.NetworkSecurityGroupInherited).To(BeTrue())
}

// No machine waits for the inventory that shows a group; none is made while the group has failed.
func TestGroup_thatIsPendingHoldsNoMachineUpAndOneInErrorDoes(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, func(w *sim.Config) { w.Times.Inventory.Duration = 1000 * time.Hour })
	cluster := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup = &group })
	for _, name := range []string{"worker-1", "worker-2", "worker-3"} {
		f.UntilReady(f.CreateMachine("demo", name, userData))
	}
	f.UntilReason(cluster, infrav1.NSGReadyCondition, "Pending", "is Pending")
	own := cluster.Status.NetworkSecurityGroupID
	f.Expect(f.Sim.State().Enforced).To(HaveKeyWithValue(cluster.Status.VPCID, own))

	f.Expect(f.Sim.SetStatus(sim.Status{ID: own, Status: "Error"})).To(Succeed())
	f.UntilReason(cluster, infrav1.NSGReadyCondition, "Failed", "as Error")
	late := f.CreateMachine("demo", "worker-4", userData)
	f.UntilReason(late, infrav1.ClusterReadyCondition, "Waiting", "NvidiaBMMCluster demo isn't ready yet")
	f.Expect(f.Called("createInstance")).To(Equal(3))
	f.Expect(f.Sim.SetStatus(sim.Status{ID: own, Status: "Ready"})).To(Succeed())
	f.UntilReady(late)
	f.UntilReady(cluster)
}

// Another client renames the VPC and takes that back while the cluster is paused, and the service detaches the group at the site. Only
// the group's propagation status in the API shows it.
func TestGroup_whosePropagationDetailsVanishIsAttachedAgain(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, func(w *sim.Config) { w.Times.InventoryDelay = w.Times.Inventory })
	cluster := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup = &group })
	f.UntilReady(f.CreateMachine("demo", "worker-1", userData))
	f.UntilReady(cluster)
	f.UntilInEffect(cluster)
	vpc, own := cluster.Status.VPCID, cluster.Status.NetworkSecurityGroupID

	bmmtest.Change(f, cluster, func(c *infrav1.NvidiaBMMCluster) { c.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
	f.UntilTrue(cluster, clusterv1.PausedCondition)
	for _, name := range []string{"renamed", "demo"} {
		_, err := f.API().UpdateVPC(t.Context(), sim.DefaultSiteID, vpc, bmm.VPCUpdateRequest{Name: name})
		f.Expect(err).NotTo(HaveOccurred())
	}
	f.Eventually(func() map[string]string { return f.Sim.State().Enforced }).ShouldNot(HaveKey(vpc))
	bmmtest.Change(f, cluster, func(c *infrav1.NvidiaBMMCluster) { c.Annotations = nil })
	f.Eventually(func() map[string]string { return f.Sim.State().Enforced }).Should(HaveKeyWithValue(vpc, own))
	f.Eventually(func() []string { return f.Events(cluster, "Changing") }).Should(ContainElement(
		ContainSubstring("VPC " + vpc + " is no longer in effect")))
	f.UntilReady(cluster)
	f.Expect(f.Called("updateVpc")).To(Equal(3), "twice by the user, once by the provider")
}

func TestGroup_ofTheMachineComesFirst(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	users := f.MakeGroup("users")
	before := f.Snapshot(users)
	vpc := f.MakeVPC("users", bmm.EthernetVirtualizer)
	f.UntilReady(f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC = infrav1.VPCSpec{ID: vpc, NetworkSecurityGroup: &group}
	}))
	object := f.CreateMachine("demo", "worker-1", userData, func(m *infrav1.NvidiaBMMMachine) { m.Spec.Network.NetworkSecurityGroupID = users })
	f.UntilReady(object)
	f.Expect(attached(f)()).To(Equal(users))
	_, err := f.API().UpdateInstance(t.Context(), sim.DefaultSiteID, object.Status.InstanceID, bmm.InstanceUpdateRequest{NetworkSecurityGroupID: ptr.To("")})
	f.Expect(err).NotTo(HaveOccurred())
	f.Eventually(attached(f)).Should(Equal(users))
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Snapshot(users)).To(Equal(before))
}
