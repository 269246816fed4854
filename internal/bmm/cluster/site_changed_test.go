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

// The IP block is gone, and the user changes the wrong field: siteRef, which is open, too, while something of ReferencesResolved is missing.
func TestSite_thatDoesNotFitTheVPCCanBeSetBack(t *testing.T) {
	t.Parallel()
	const second, block = "517e0000-0000-4000-8000-00000000000b", "1b10c000-0000-4000-8000-00000000000b"
	f := bmmtest.Start(t, func(w *sim.Config) {
		w.Sites = append(w.Sites, sim.Site{ID: second, Name: "site-b"})
		w.IPBlocks = append(w.IPBlocks, sim.IPBlock{
			ID: block, Name: "block-b", SiteID: second, TenantID: sim.DefaultTenantID, Prefix: netip.MustParseAddr("127.99.0.0"), PrefixLength: 16,
		})
	})
	vpc := f.MakeVPC("users", bmm.EthernetVirtualizer)
	object := f.CreateCluster("demo", in(vpc))
	f.UntilReady(object)
	f.Expect(f.Sim.Vanish(object.Status.Subnets[0].ID)).To(Succeed())
	f.Expect(f.Sim.Vanish(object.Status.IPBlockID)).To(Succeed())
	f.UntilReason(object, infrav1.ReferencesResolvedCondition, "Missing", "IP block "+object.Status.IPBlockID+" does not exist")
	before := object.Spec.SiteRef
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.SiteRef = infrav1.SiteReference{ID: second} })
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.SiteID).To(Equal(second))
	}).Should(Succeed())
	f.UntilReason(object, infrav1.VPCReadyCondition, "Invalid", "choose a VPC of that site")
	bmmtest.Change(f, object, func(c *infrav1.NvidiaBMMCluster) { c.Spec.SiteRef = before }) // the way back
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.SiteID).NotTo(Equal(second))
	}).Should(Succeed())
}
