package cluster_test

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// The IP block is gone, and the user changes the wrong field: siteRef, which is immutable once the site was found. The site is there.
func TestSite_staysWhileOnlyTheIPBlockIsMissing(t *testing.T) {
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
	f.Expect(f.Read(object)).To(Succeed())
	before := object.Spec.SiteRef
	object.Spec.SiteRef = infrav1.SiteReference{ID: second}
	if err := f.Client.Update(t.Context(), object); err != nil {
		return // admission says so
	}
	f.Eventually(func(g Gomega) {
		g.Expect(f.Read(object)).To(Succeed())
		g.Expect(object.Status.SiteID).To(Equal(second))
	}).Should(Succeed())
	f.UntilReason(object, infrav1.VPCReadyCondition, "Invalid", "choose a VPC of that site")
	f.Eventually(func() error {
		f.Expect(f.Read(object)).To(Succeed())
		object.Spec.SiteRef = before
		return f.Client.Update(t.Context(), object)
	}, 20*time.Second).Should(Succeed(), "the way back, which admission took to get here")
}
