package cluster_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

const (
	otherTenant = "7e4a0000-0000-4000-8000-000000000002"
	otherSite   = "517e0000-0000-4000-8000-000000000002"
	nobody      = "a0000000-0000-4000-8000-000000000009"
)

// neighbours are another tenant and another site.
func neighbours(w *sim.Config) {
	w.OtherTenants = append(w.OtherTenants, sim.Tenant{ID: otherTenant, Name: "other"})
	w.Sites = append(w.Sites, sim.Site{ID: otherSite, Name: "site-2", NetworkSecurityGroup: true})
}

// in puts a cluster into a VPC of the user's own.
func in(vpc string) func(*infrav1.NvidiaBMMCluster) {
	return func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC = infrav1.VPCSpec{ID: vpc} }
}

func TestOwnVPC_getsTheSubnetsAndIsNeverChangedOrDeleted(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	vpc := f.MakeVPC("users", bmm.EthernetVirtualizer)
	before := f.Snapshot(vpc)
	object := f.CreateCluster("demo", in(vpc))
	f.UntilReady(object)
	f.Expect(object.Status.VPCID).To(Equal(vpc))
	f.Expect(f.Sim.State().Subnets).To(ConsistOf(HaveField("VPCID", vpc)))

	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Snapshot(vpc)).To(Equal(before))
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
	for _, operation := range []string{"createVpc", "updateVpc", "deleteVpc"} {
		f.Expect(f.Called(operation)).To(BeZero(), operation)
	}
}

func TestOwnVPC_ofTheFabricGetsPrefixes(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, everySite)
	vpc := f.MakeVPC("users", bmm.FNN)
	object := f.CreateCluster("demo", fnn, func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC = infrav1.VPCSpec{ID: vpc, NetworkVirtualizationType: infrav1.FabricNativeNetworking}
	})
	f.UntilReady(object)
	f.Expect(f.Sim.State().VPCPrefixes).To(And(HaveLen(2), HaveEach(HaveField("VPCID", vpc))))
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

// The group is made, and left to the instances: the VPC isn't ours to attach it to.
func TestOwnVPC_isNotGivenTheClustersGroup(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	vpc := f.MakeVPC("users", bmm.EthernetVirtualizer)
	before := f.Snapshot(vpc)
	object := f.CreateCluster("demo", withGroup, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.ID = vpc })
	f.UntilReady(object)
	f.Expect(object.Status.NetworkSecurityGroupID).To(Equal(f.Sim.State().NetworkSecurityGroups[0].ID))
	f.Expect(f.Snapshot(vpc)).To(Equal(before))
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Snapshot(vpc)).To(Equal(before))
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

func TestOwnVPC_thatCannotBeUsedIsNamed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, reason, says string
		vpc                func(*bmmtest.Fixture) (id string)
	}{
		{"none", "NotFound", "Could not find VPC with specified ID: correct spec.vpc.id", func(*bmmtest.Fixture) string { return nobody }},
		{"another type", "Invalid", "is of type FNN: set spec.vpc.networkVirtualizationType to that", func(f *bmmtest.Fixture) string {
			return f.MakeVPC("users", bmm.FNN)
		}},
		{"another site's", "Invalid", "is at site " + otherSite + ", and spec.siteRef names site " + sim.DefaultSiteID, func(f *bmmtest.Fixture) string {
			return f.Make(sim.Object{Kind: sim.KindVPC, Request: bmm.VPCCreateRequest{Name: "users", SiteID: otherSite}})
		}},
		{"another tenant's", "Invalid", "VPC does not belong to current Tenant: correct spec.vpc.id", func(f *bmmtest.Fixture) string {
			return f.Make(sim.Object{Kind: sim.KindVPC, TenantID: otherTenant, Request: bmm.VPCCreateRequest{Name: "theirs", SiteID: sim.DefaultSiteID}})
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, everySite, neighbours)
			vpc := row.vpc(f)
			before := f.Snapshot(vpc)
			object := f.CreateCluster("demo", in(vpc))
			f.UntilReason(object, infrav1.VPCReadyCondition, row.reason, row.says)
			f.Expect(f.Message(object, infrav1.VPCReadyCondition)).To(ContainSubstring(vpc))
			f.UntilReason(object, infrav1.SubnetsReadyCondition, "Waiting", "waits for vpc")
			f.Delete(object)
			f.UntilGone(object)
			f.Expect(f.Snapshot(vpc)).To(Equal(before))
			f.Expect(f.Sim.State().Empty()).To(BeTrue())
		})
	}
}

// What is the user's own isn't made again.
func TestOwnVPC_thatIsGoneIsReported(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	vpc := f.MakeVPC("users", bmm.EthernetVirtualizer)
	object := f.CreateCluster("demo", in(vpc))
	f.UntilReady(object)
	subnet := object.Status.Subnets[0].ID
	f.Expect(f.Sim.Vanish(subnet)).To(Succeed())
	f.Expect(f.Sim.Vanish(vpc)).To(Succeed())
	f.UntilReason(object, infrav1.VPCReadyCondition, "Missing", "VPC "+vpc+" does not exist")
	f.Expect(object.Status.VPCID).To(Equal(vpc))
	f.Expect(f.Called("createVpc")).To(BeZero())
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

func TestOwnGroup_isAttachedAndNeverChangedOrDeleted(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	group := f.MakeGroup("users")
	before := f.Snapshot(group)
	object := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{ID: group}
	})
	f.UntilReady(object)
	f.Expect(f.Sim.State().VPCs).To(ConsistOf(HaveField("NetworkSecurityGroupID", group)))
	f.Expect(object.Status.NetworkSecurityGroupID).To(Equal(group))
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Snapshot(group)).To(Equal(before))
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
	for _, operation := range []string{"createNetworkSecurityGroup", "updateNetworkSecurityGroup", "deleteNetworkSecurityGroup"} {
		f.Expect(f.Called(operation)).To(BeZero(), operation)
	}
}

func TestOwnGroup_thatDoesNotExistIsNamed(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	object := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPC.NetworkSecurityGroup = &infrav1.NetworkSecurityGroupSpec{ID: nobody}
	})
	f.UntilReason(object, infrav1.NSGReadyCondition, "Missing", "network security group "+nobody+" does not exist")
	f.UntilReason(object, infrav1.VPCReadyCondition, "Waiting", "waits for group/"+nobody)
	f.Expect(f.Called("createVpc")).To(BeZero(), "no VPC without the group that was asked for")
}

func TestOwnBlock_isTheOneThatIsNamed(t *testing.T) {
	t.Parallel()
	const second = "1b10c000-0000-4000-8000-000000000002"
	for name, ref := range map[string]infrav1.IPBlockReference{"by ID": {ID: second}, "by name": {Name: "block-2"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, func(w *sim.Config) {
				w.IPBlocks = append(w.IPBlocks, sim.IPBlock{
					ID: second, Name: "block-2", SiteID: sim.DefaultSiteID, TenantID: sim.DefaultTenantID,
					Prefix: netip.MustParseAddr("127.99.0.0"), PrefixLength: 16,
				})
			})
			object := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) { c.Spec.IPBlock = &ref })
			f.UntilReady(object)
			f.Expect(object.Status.IPBlockID).To(Equal(second))
			f.Expect(object.Status.Subnets).To(ConsistOf(HaveField("CIDR", "127.99.0.0/24")))
			f.Delete(object)
			f.UntilGone(object)
			f.Expect(f.Sim.State().Empty()).To(BeTrue())
		})
	}
}
