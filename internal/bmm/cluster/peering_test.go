package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/ledgers"
)

func peered(with ...string) func(*infrav1.NvidiaBMMCluster) {
	return func(c *infrav1.NvidiaBMMCluster) {
		c.Spec.VPCPeerings = nil
		for _, id := range with {
			c.Spec.VPCPeerings = append(c.Spec.VPCPeerings, infrav1.VPCPeeringSpec{PeerVPCID: id})
		}
	}
}

func TestPeerings_comeAndGoWithTheSpec(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	first, second := f.MakeVPC("first", bmm.EthernetVirtualizer), f.MakeVPC("second", bmm.EthernetVirtualizer)
	before := f.Snapshot(first, second)
	object := f.CreateCluster("demo", peered(first, second))
	f.UntilReady(object)
	state := f.Sim.State()
	f.Expect(state.VPCPeerings).To(And(HaveLen(2), HaveEach(HaveField("VPC1ID", object.Status.VPCID))))
	var want []infrav1.VPCPeeringStatus
	for _, p := range state.VPCPeerings {
		want = append(want, infrav1.VPCPeeringStatus{PeerVPCID: p.VPC2ID, ID: p.ID})
	}
	f.Expect(object.Status.VPCPeerings).To(ConsistOf(want))

	bmmtest.Change(f, object, peered(second))
	f.Eventually(func(g Gomega) {
		g.Expect(f.Sim.State().VPCPeerings).To(ConsistOf(HaveField("VPC2ID", second)))
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.VPCPeerings).To(ConsistOf(HaveField("PeerVPCID", second)))
	}).Should(Succeed())
	f.UntilReady(object)

	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Snapshot(first, second)).To(Equal(before))
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
	f.Expect(f.Called("deleteVpc")).To(Equal(1), "after its peerings")
}

// One that exists already, in whichever direction, is the user's own, and as good.
func TestPeerings_thatExistAlreadyAreTheUsersOwn(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	own, peer := f.MakeVPC("own", bmm.EthernetVirtualizer), f.MakeVPC("peer", bmm.EthernetVirtualizer)
	theirs := f.Make(sim.Object{Kind: sim.KindVPCPeering, Request: bmm.VPCPeeringCreateRequest{
		SiteID: sim.DefaultSiteID, VPC1ID: peer, VPC2ID: own,
	}})
	before := f.Snapshot(own, peer, theirs)
	object := f.CreateCluster("demo", in(own), peered(peer))
	f.UntilReady(object)
	f.Expect(object.Status.VPCPeerings).To(Equal([]infrav1.VPCPeeringStatus{{PeerVPCID: peer, ID: theirs}}))
	bmmtest.Change(f, object, peered())
	f.Eventually(func() []infrav1.VPCPeeringStatus { _ = f.Read(object); return object.Status.VPCPeerings }).Should(BeEmpty())
	bmmtest.Change(f, object, peered(peer))
	f.UntilReady(object)
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Snapshot(own, peer, theirs)).To(Equal(before))
	f.Expect(f.Called("createVpcPeering")).To(BeZero())
	f.Expect(f.Called("deleteVpcPeering")).To(BeZero())
}

// The service lists a peering of the user's own whose peer is gone as if it were well: it isn't bound, because it can't be asked for.
func TestPeerings_whosePeerIsGoneAreNotBound(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, slowInventory)
	own, peer := f.MakeVPC("own", bmm.EthernetVirtualizer), f.MakeVPC("peer", bmm.EthernetVirtualizer)
	theirs := f.Make(sim.Object{Kind: sim.KindVPCPeering, Request: bmm.VPCPeeringCreateRequest{
		SiteID: sim.DefaultSiteID, VPC1ID: peer, VPC2ID: own,
	}})
	f.Expect(f.API().DeleteVPC(t.Context(), sim.DefaultSiteID, peer)).To(Succeed())
	f.Eventually(func() []bmm.VPC { return f.Sim.State().VPCs }).Should(ConsistOf(HaveField("ID", own)))
	object := f.CreateCluster("demo", in(own), peered(peer))
	f.UntilReason(object, infrav1.VPCPeeringsReadyCondition, "Busy", "ask the site's operator to delete it")
	f.Expect(ledgers.Resources(f.Ledger(object))).NotTo(ContainElement(HaveField("ID", theirs)))
	f.Expect(f.Called("createVpcPeering")).To(BeZero())
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Called("deleteVpcPeering")).To(BeZero())
}

func TestPeerings_thatSomebodyElseDeletedAreMadeAgain(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	peer := f.MakeVPC("peer", bmm.EthernetVirtualizer)
	object := f.CreateCluster("demo", peered(peer))
	f.UntilReady(object)
	lost := object.Status.VPCPeerings[0].ID
	f.Expect(f.API().DeleteVPCPeering(t.Context(), sim.DefaultSiteID, lost)).To(Succeed())
	f.Eventually(func() []bmm.VPCPeering { return f.Sim.State().VPCPeerings }).Should(ConsistOf(HaveField("ID", Not(Equal(lost)))))
	f.UntilReady(object)
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().Empty()).To(BeTrue())
}

// The service answers 404 for a peering that it still has, when one of the VPCs is gone: that is neither forgotten nor taken for
// the user's own, nor made again, nor does deletion go past it, and what it waits for is said.
func TestPeerings_whosePeerIsGoneAreNotForgotten(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		end  func(*bmmtest.Fixture, *infrav1.NvidiaBMMCluster)
	}{
		{"taken out of the spec", func(f *bmmtest.Fixture, c *infrav1.NvidiaBMMCluster) { bmmtest.Change(f, c, peered()) }},
		{"deleted with the cluster", func(f *bmmtest.Fixture, c *infrav1.NvidiaBMMCluster) { f.Delete(c) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, slowInventory)
			peer := f.MakeVPC("peer", bmm.EthernetVirtualizer)
			object := f.CreateCluster("demo", peered(peer))
			f.UntilReady(object)
			peering := object.Status.VPCPeerings[0].ID
			f.Expect(f.API().DeleteVPC(t.Context(), sim.DefaultSiteID, peer)).To(Succeed())
			untilNamed := func() {
				f.UntilReason(object, infrav1.VPCPeeringsReadyCondition, "Busy", "Could not find VPC with ID: "+peer)
				f.UntilReason(object, infrav1.VPCPeeringsReadyCondition, "Busy", "ask the site's operator to delete it")
				looks := f.Called("getVpcPeering")
				f.Eventually(func() int { return f.Called("getVpcPeering") }).Should(BeNumerically(">", looks+4))
				f.UntilReason(object, infrav1.VPCPeeringsReadyCondition, "Busy", "ask the site's operator to delete it")
				f.Expect(ledgers.Resources(f.Ledger(object))).To(ContainElement(And(HaveField("ID", peering), HaveField("Own", true))))
			}
			untilNamed()
			row.end(f, object)
			untilNamed()
			f.Expect(f.Called("createVpcPeering")).To(Equal(1))
			f.Expect(f.Called("deleteVpc")).To(Equal(1), "the peer's")

			f.Expect(f.Sim.Vanish(peering)).To(Succeed())
			if object.DeletionTimestamp.IsZero() {
				f.UntilReady(object)
				f.Delete(object)
			}
			f.UntilGone(object)
			f.Expect(f.Sim.State().VPCs).To(BeEmpty())
		})
	}
}

// The service forgets a peering when it learns from the site that it is gone with its VPC.
func TestPeerings_goWithTheirPeer(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	peer := f.MakeVPC("peer", bmm.EthernetVirtualizer)
	object := f.CreateCluster("demo", peered(peer))
	f.UntilReady(object)
	f.Expect(f.API().DeleteVPC(t.Context(), sim.DefaultSiteID, peer)).To(Succeed())
	f.UntilReason(object, infrav1.VPCPeeringsReadyCondition, "Invalid", "VPC "+peer+" can't be a peer; correct spec.vpcPeerings")
	f.Expect(f.Events(object, "Ready")).NotTo(ContainElement(ContainSubstring("VPCPeeringsReady is True")), "it never was taken for another's")
	f.Delete(object)
	f.UntilGone(object)
	f.Expect(f.Sim.State().VPCPeerings).To(BeEmpty())
	f.Expect(f.Sim.State().VPCs).To(BeEmpty())
}

func TestPeerings_withWhatIsNoPeerAreNamed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, reason, says string
		peer               func(*bmmtest.Fixture) string
	}{
		{"no VPC", "Invalid", "Could not find VPC with ID: " + nobody, func(*bmmtest.Fixture) string { return nobody }},
		{"a VPC whose tenant isn't at the site", "Quota", "does not have access to Site", func(f *bmmtest.Fixture) string {
			return f.Make(sim.Object{Kind: sim.KindVPC, TenantID: otherTenant, Request: bmm.VPCCreateRequest{Name: "theirs", SiteID: sim.DefaultSiteID}})
		}},
		{"a VPC of another site", "Invalid", "does not belong to Site", func(f *bmmtest.Fixture) string {
			return f.Make(sim.Object{Kind: sim.KindVPC, Request: bmm.VPCCreateRequest{Name: "far", SiteID: otherSite}})
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := bmmtest.Start(t, neighbours)
			peer := row.peer(f)
			object := f.CreateCluster("demo", peered(peer))
			f.UntilReason(object, infrav1.VPCPeeringsReadyCondition, row.reason, row.says)
			f.UntilReason(object, infrav1.VPCPeeringsReadyCondition, row.reason, "VPC "+peer+" can't be a peer; correct spec.vpcPeerings")
			f.UntilTrue(object, infrav1.SubnetsReadyCondition) // nothing waits for it
			bmmtest.Change(f, object, peered())
			f.UntilReady(object)
		})
	}
}

func TestPeerings_ofAReleaseWithoutThemAreRefusedAndHoldUpNothing(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, func(w *sim.Config) { w.Release = sim.Release106 })
	object := f.CreateCluster("demo", peered(f.MakeVPC("peer", bmm.EthernetVirtualizer)))
	f.UntilReason(object, infrav1.VPCPeeringsReadyCondition, "Invalid", "this release (1.0.6) has no VPC peerings: correct spec.vpcPeerings")
	f.UntilTrue(object, infrav1.SubnetsReadyCondition)
	f.Expect(object.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
	f.Delete(object)
	f.UntilGone(object)
}
