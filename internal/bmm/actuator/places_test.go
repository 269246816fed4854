package actuator

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	bmmv1 "github.com/bedplate/bedplate/api/bmm/machine/v1beta1"
	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/bmm/sim"
	"github.com/bedplate/bedplate/internal/bmm/sim/simtest"
)

func named(subnet string) infrav1.NetworkSpec {
	return infrav1.NetworkSpec{NetworkInterface: infrav1.NetworkInterface{SubnetName: subnet}}
}

// The server's own check of names loses races: only the user can say which of two is meant.
func TestPlace_twoNetworksOfOneName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := &place{vpc: &bmm.VPC{Name: "net", NetworkVirtualizationType: bmm.EthernetVirtualizer}, networks: []network{
		{"1", "nodes", networkReady}, {"2", "nodes", networkReady}, {"3", "storage", networkReady}, {"4", "new", string(bmm.SubnetPending)},
	}}
	_, err := p.networksOf(named("nodes"))
	g.Expect(err).To(MatchError(`VPC net has 2 networks that are named "nodes": rename the others`))
	_, err = p.networksOf(named("new"))
	g.Expect(err).To(MatchError(`subnet new of VPC net is Pending`))
	g.Expect(p.networksOf(named("storage"))).To(Equal([]instance.NetworkID{{Subnet: "3"}}))
}

func TestPlace_prefixesOfAFabric(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := &place{vpc: &bmm.VPC{Name: "net", NetworkVirtualizationType: bmm.FNN}, networks: []network{{"1", "nodes", networkReady}}}
	g.Expect(p.networksOf(infrav1.NetworkSpec{})).To(Equal([]instance.NetworkID{{Prefix: "1"}}))
}

// A MachineSet asks the same a hundred times.
func TestPlaces_asksOnceForAWhile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server, api := simtest.InMemory(t, sim.DefaultWorld(), nil)
	t.Cleanup(server.Close)
	vpc, err := server.Make(sim.Object{Kind: sim.KindVPC, Request: bmm.VPCCreateRequest{
		Name: "net", SiteID: sim.DefaultSiteID, NetworkVirtualizationType: bmm.EthernetVirtualizer,
	}})
	g.Expect(err).NotTo(HaveOccurred())
	passing := clocktesting.NewFakeClock(time.Now())
	places := NewPlaces(time.Minute, passing)
	spec := bmmv1.NvidiaBMMMachineProviderSpec{SiteRef: infrav1.SiteReference{Name: "site-1"}, TenantID: sim.DefaultTenantID, VPCID: vpc}
	for range 3 {
		_, err := places.find(t.Context(), api, spec)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(server.Calls()).To(And(HaveKeyWithValue("listSubnets", 1), HaveKeyWithValue("listSites", 1), HaveKeyWithValue("getVpc", 1)))
	passing.Step(2 * time.Minute)
	_, err = places.find(t.Context(), api, spec)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(server.Calls()).To(HaveKeyWithValue("listSubnets", 2))
}
