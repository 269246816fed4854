package cluster_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

// What has no labels carries its tag in its name. One that was renamed outside gets it back, or it couldn't be deleted.
func TestRenamed_subnetsAndPrefixesGetTheirTagBack(t *testing.T) {
	t.Parallel()
	t.Run("subnet", func(t *testing.T) {
		t.Parallel()
		f, object := ready(t)
		before := f.Sim.State().Subnets[0]
		_, err := f.API().UpdateSubnet(t.Context(), sim.DefaultSiteID, before.ID, bmm.SubnetUpdateRequest{Name: "by-hand"})
		f.Expect(err).NotTo(HaveOccurred())
		f.Eventually(func() string { return f.Sim.State().Subnets[0].Name }).Should(Equal(before.Name))
		f.UntilReady(object)
		f.Expect(f.Called("updateSubnet")).To(Equal(2), "once by hand, once by the provider")
		f.Delete(object)
		f.UntilGone(object)
		f.Expect(f.Sim.State().Empty()).To(BeTrue())
	})
	t.Run("VPC prefix", func(t *testing.T) {
		t.Parallel()
		f := bmmtest.Start(t, everySite)
		object := f.CreateCluster("demo", fnn)
		f.UntilReady(object)
		before := f.Sim.State().VPCPrefixes
		_, err := f.API().UpdateVPCPrefix(t.Context(), sim.DefaultSiteID, before[0].ID, bmm.VPCPrefixUpdateRequest{Name: "by-hand"})
		f.Expect(err).NotTo(HaveOccurred())
		f.Eventually(func() string { return f.Sim.State().VPCPrefixes[0].Name }).Should(Equal(before[0].Name))
		f.UntilReady(object)
		f.Expect(f.Called("updateVpcPrefix")).To(Equal(2), "once by hand, once by the provider")
		f.Delete(object)
		f.UntilGone(object)
		f.Expect(f.Sim.State().Empty()).To(BeTrue())
	})
}
