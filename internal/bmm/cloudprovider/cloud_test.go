package cloudprovider

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/bedplate/bedplate/internal/bmm/bmmtest/cloudtest"
	"github.com/bedplate/bedplate/internal/bmm/sim"
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

// Without the cache of Nodes it couldn't be seen that an instance has a Node already.
func TestCloud_doesntRunWithoutItsCache(t *testing.T) {
	t.Parallel()
	f := prepare(t, world(1))
	factory := informers.NewSharedInformerFactory(f.kubernetes, 0)
	nodes := factory.Core().V1().Nodes().Informer()
	f.Expect(nodes.AddIndexers(cache.Indexers{byProviderID: providerIDOf})).To(Succeed())
	f.Expect(func() { f.cloud.SetInformers(factory) }).To(PanicWith(MatchError(ContainSubstring("conflict"))))
}

// Each of a hundred nodes is asked about, and the site has to be looked up by its name.
func TestSite_isLookedUpOnceInAnOutage(t *testing.T) {
	t.Parallel()
	f := prepare(t, world(0), seldom, func(c *Config) { c.Site = Site{Name: "site-1"} })
	f.gate.stop(answer(503, "upstream connect error"))
	calls := func() int {
		f.gate.mu.Lock()
		defer f.gate.mu.Unlock()
		return len(f.gate.tokens)
	}
	ask := func(n int) error {
		node := cloudtest.Node(f.name(n), cloudtest.NotReady, cloudtest.WithProviderID(cloudtest.ProviderID(n)))
		_, err := f.cloud.InstanceExists(t.Context(), node)
		return err
	}
	first := ask(0)
	f.Expect(first).To(HaveOccurred())
	before := calls()
	f.Expect(before).NotTo(BeZero())
	for n := range 100 {
		f.Expect(ask(n)).To(MatchError(first))
	}
	f.Expect(calls()).To(Equal(before))
}

func TestSite_thatHasLostItsNameIsSaid(t *testing.T) {
	t.Parallel()
	f := prepare(t, world(0), func(c *Config) { c.Site = Site{Name: "site-1"} })
	_, err := f.cloud.site(t.Context())
	f.Expect(err).NotTo(HaveOccurred())
	f.cloud.source.(*direct).config.Site.Name = "site-2" // as if that had been its name
	_, err = f.cloud.site(t.Context())
	f.Expect(err).To(MatchError(And(ContainSubstring(`no site is named "site-2"`), ContainSubstring("it was site "+sim.DefaultSiteID))))
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
