package cloudprovider

import (
	"testing"

	. "github.com/onsi/gomega"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest/cloudtest"
)

func TestCloud_leavesRoomForSomebodyElsesLoadBalancers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cloud := New(Config{Site: Site{Name: "site-1"}, Credentials: "/nowhere"})
	for _, supported := range []func() bool{
		func() bool { _, ok := cloud.LoadBalancer(); return ok }, func() bool { _, ok := cloud.Routes(); return ok },
		func() bool { _, ok := cloud.Clusters(); return ok }, func() bool { _, ok := cloud.Instances(); return ok },
	} {
		g.Expect(supported()).To(BeFalse())
	}
	g.Expect(cloud.HasClusterID()).To(BeTrue())
	g.Expect(cloud.ProviderName()).To(Equal("nvidia-bmm"))
	_, ok := cloud.InstancesV2()
	g.Expect(ok).To(BeTrue())
}

func TestZones_areTheSite(t *testing.T) {
	t.Parallel()
	f := prepare(t, world(1), func(c *Config) { c.Site = Site{Name: "site-1"} })
	zones, ok := f.cloud.Zones()
	f.Expect(ok).To(BeTrue())
	here := cloudprovider.Zone{FailureDomain: "site-1", Region: "zurich"}
	f.Expect(zones.GetZone(t.Context())).To(Equal(here))
	f.Expect(zones.GetZoneByNodeName(t.Context(), "node")).To(Equal(here))
	f.Expect(zones.GetZoneByProviderID(t.Context(), cloudtest.ProviderID(0))).To(Equal(here))
	f.Expect(f.site.Calls()).To(And(HaveKeyWithValue("listSites", 1), HaveKeyWithValue("getSite", 1)), "names change seldom")
	const elsewhere = "nvidia-bmm://517e0000-0000-4000-8000-00000000000f/"
	for _, id := range []string{"nico://a/b/c/d", elsewhere + cloudtest.InstanceID(0)} {
		_, err := zones.GetZoneByProviderID(t.Context(), id)
		f.Expect(err).To(HaveOccurred())
	}
}

// No site has this name: that says nothing of any instance.
func TestSite_thatIsNotFoundByNameKeepsNodes(t *testing.T) {
	t.Parallel()
	f := start(t, world(1), func(c *Config) { c.Site = Site{Name: "misspelled"} })
	f.registerSilent(1)
	f.untilAsked(f.asked.unknown, 20, f.name(0))
	f.Expect(f.nodes()).To(HaveLen(1))
	f.Expect(f.events.of("Lease")).To(Equal([]string{ReasonAPI}))
	f.Expect(f.events.text()).To(ContainSubstring(`no site is named "misspelled"`))
	f.Expect(f.site.Calls()["getSite"]).To(BeZero())
}
