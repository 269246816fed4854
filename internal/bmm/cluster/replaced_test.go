package cluster_test

import (
	"net/http"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// The allocation is deleted outside, and its block with it. It is created again, with another block: the cluster has to use that.
func TestAllocation_isCreatedAgainWithAnotherBlock(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t, bare)
	heal := f.Refuse(http.StatusServiceUnavailable, "createSubnet")
	object := f.CreateCluster("demo", ownBlock)
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.IPBlockID).NotTo(BeEmpty())
	}).Should(Succeed())
	lost := object.Status.AllocationID
	f.Expect(f.API().DeleteAllocation(t.Context(), sim.DefaultSiteID, lost)).To(Succeed())
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.AllocationID).NotTo(Or(BeEmpty(), Equal(lost)))
	}).Should(Succeed())
	heal()
	f.UntilReady(object)
}

// The condition of what is gone says to name another one in the spec.
func TestOwnVPC_isReplacedByAnotherWhenItIsGone(t *testing.T) {
	t.Parallel()
	f := bmmtest.Start(t)
	vpc, other := f.MakeVPC("users", bmm.EthernetVirtualizer), f.MakeVPC("another", bmm.EthernetVirtualizer)
	object := f.CreateCluster("demo", in(vpc))
	f.UntilReady(object)
	f.Expect(f.Sim.Vanish(object.Status.Subnets[0].ID)).To(Succeed())
	f.Expect(f.Sim.Vanish(vpc)).To(Succeed())
	f.UntilReason(object, infrav1.VPCReadyCondition, "Missing", "VPC "+vpc+" does not exist: name another one in the spec")
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.VPC.ID = other }) // the remedy that the condition names
	f.UntilReady(object)
}

func TestIPBlock_isReplacedByAnotherWhenItIsGone(t *testing.T) {
	t.Parallel()
	const second = "1b10c000-0000-4000-8000-000000000002"
	f := bmmtest.Start(t, func(w *sim.Config) {
		w.IPBlocks = append(w.IPBlocks, sim.IPBlock{
			ID: second, Name: "block-2", SiteID: sim.DefaultSiteID, TenantID: sim.DefaultTenantID,
			Prefix: netip.MustParseAddr("127.99.0.0"), PrefixLength: 16,
		})
	})
	heal := f.Refuse(http.StatusServiceUnavailable, "createSubnet")
	object := f.CreateCluster("demo", func(c *infrav1.NvidiaBMMCluster) { c.Spec.IPBlock = &infrav1.IPBlockReference{ID: second} })
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.IPBlockID).NotTo(BeEmpty())
	}).Should(Succeed())
	f.Expect(f.Sim.Vanish(second)).To(Succeed())
	heal()
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Missing", "does not exist: name another one in the spec")
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.IPBlock = nil }) // the remedy that the condition names
	f.UntilReady(object)
}
