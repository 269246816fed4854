package machine_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

const (
	usersVPC   = "00000000-0000-4000-8000-00000000cafe"
	usersGroup = "00000000-0000-4000-8000-00000000f00d"
	noGroup    = "00000000-0000-4000-8000-00000000dead"
)

// A misspelled ID must not leave the machines of a cluster without a filter.
func TestMachine_keepsItsGroupWhileThatOfTheClusterIsNotKnown(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	for id, o := range map[string]sim.Object{
		usersVPC:   {Kind: sim.KindVPC, Request: bmm.VPCCreateRequest{Name: "users", SiteID: sim.DefaultSiteID, NetworkVirtualizationType: bmm.EthernetVirtualizer}},
		usersGroup: {Kind: sim.KindNetworkSecurityGroup, Request: bmm.NetworkSecurityGroupCreateRequest{Name: "users", SiteID: sim.DefaultSiteID}},
	} {
		o.ID = id
		_, err := f.Sim.Make(o)
		f.Expect(err).NotTo(HaveOccurred())
	}
	infra := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC = infrav1.VPCSpec{
			ID: usersVPC, NetworkVirtualizationType: infrav1.EthernetVirtualizer,
			NetworkSecurityGroup: &infrav1.NetworkSecurityGroupSpec{ID: usersGroup},
		}
	})
	f.UntilReady(infra)
	f.UntilReady(f.CreateMachine("demo", "worker-1", userData))
	group := func() string { return f.Sim.State().Instances[0].NetworkSecurityGroupID }
	f.Expect(group()).To(Equal(usersGroup))

	bmmtest.Change(f, infra, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup.ID = noGroup })
	f.UntilReason(infra, infrav1.NSGReadyCondition, "Missing", noGroup)
	f.Expect(infra.Status.NetworkSecurityGroupID).To(BeEmpty())
	f.Consistently(group, 20*bmmtest.Poll).Should(Equal(usersGroup))

	bmmtest.Change(f, infra, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.NetworkSecurityGroup = nil })
	f.Eventually(group).Should(BeEmpty(), "taken out of the spec it is another matter")
}

// A rollout to another subnet has to create the new machine before the old one is deleted, and with it the old subnet.
func TestMachine_comesUpWhileAnotherSubnetIsOnItsWayOut(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	infra := f.CreateCluster("demo")
	f.UntilReady(infra)
	old := f.CreateMachine("demo", "worker-1", userData)
	f.UntilReady(old)
	bmmtest.Change(f, infra, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.Subnets = []infrav1.SubnetSpec{{Name: "more", PrefixLength: ptr.To[int32](24)}}
	})
	f.UntilReason(infra, infrav1.SubnetsReadyCondition, "Busy", "nodes")
	f.UntilReady(f.CreateMachine("demo", "worker-2", userData, func(m *infrav1.NvidiaBMMMachine) { m.Spec.Network.SubnetName = "more" }))
	f.Delete(old)
	f.UntilGone(old)
	f.UntilReady(infra)
	f.Expect(f.Sim.State().Subnets).To(HaveLen(1))
}
