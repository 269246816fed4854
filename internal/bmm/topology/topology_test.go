package topology_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
	"github.com/bedplate/bedplate/internal/bmm/topology"
	"github.com/bedplate/bedplate/internal/simulator"
)

func TestZoneAndRegion_areLabelValues(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		site         bmm.Site
		zone, region string
	}{
		{bmm.Site{Name: "site-1", Location: gen.SiteLocation{Country: "CH", State: "ZH", City: "Zurich"}}, "site-1", "ch-zh-zurich"},
		{bmm.Site{Name: "site-1", Location: gen.SiteLocation{City: "Zurich"}}, "site-1", "zurich"},
		{bmm.Site{Name: "site-1", Location: gen.SiteLocation{Country: "US", City: "Santa Clara, South"}}, "site-1", "us-santa-clara-south"},
		{bmm.Site{Name: "Genève (2) "}, "Gen-ve-2", ""},
		{bmm.Site{Name: "_._"}, "", ""},
		{bmm.Site{Name: strings.Repeat("x", 62) + "--y"}, strings.Repeat("x", 62), ""},
	} {
		g := NewWithT(t)
		g.Expect(topology.Zone(&row.site)).To(Equal(row.zone))
		g.Expect(topology.Region(&row.site)).To(Equal(row.region))
		g.Expect(validation.IsValidLabelValue(row.zone)).To(BeEmpty())
	}
}

func TestLookup_asksOnceForEachSiteAndType(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server, api := simtest.InMemory(t, sim.DefaultWorld(), nil)
	t.Cleanup(server.Close)
	lookup := topology.NewLookup(time.Minute, clock.RealClock{})
	for range 3 {
		place, err := lookup.Of(t.Context(), api, &bmm.Instance{SiteID: sim.DefaultSiteID, InstanceTypeID: sim.DefaultInstanceTypeID})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(place).To(Equal(topology.Place{Zone: "site-1", Region: "zurich", InstanceType: "cpu.large"}))
	}
	g.Expect(server.Calls()).To(And(HaveKeyWithValue("getSite", 1), HaveKeyWithValue("getInstanceType", 1)))
}

// The name of a type that is gone is nothing that an instance has to wait for; a site that can't be asked is.
func TestLookup_tellsGoneFromUnknown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server, api := simtest.InMemory(t, sim.DefaultWorld(), nil)
	t.Cleanup(server.Close)
	lookup := topology.NewLookup(time.Minute, clock.RealClock{})
	other := &bmm.Instance{SiteID: sim.DefaultSiteID, InstanceTypeID: "17fe0000-0000-4000-8000-00000000dead"}
	g.Expect(lookup.Of(t.Context(), api, other)).To(Equal(topology.Place{Zone: "site-1", Region: "zurich"}))

	g.Expect(server.AddFault(simulator.Fault{Operation: "getInstanceType", Kind: simulator.FaultStatus, Status: 403})).To(Succeed())
	_, err := lookup.Of(t.Context(), api, &bmm.Instance{SiteID: sim.DefaultSiteID, InstanceTypeID: sim.DefaultInstanceTypeID})
	g.Expect(err).To(HaveOccurred())
}
