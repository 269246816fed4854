package sim_test

import (
	"testing"

	. "github.com/onsi/gomega"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

func TestRelease106_ignoresWhatItDoesNotKnow(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc := answer[api.VPC](b, 201, "POST", "/vpc", fields{
			"name": "net", "siteId": sim.DefaultSiteID, "networkVirtualizationType": "FNN", "routingProfile": "internal"})
		b.Expect(vpc.RoutingProfile).To(BeEmpty())
		b.pass(sim.DefaultTimes().VPC.Duration)
		prefix := answer[api.VPCPrefix](b, 201, "POST", "/vpc-prefix", fields{
			"name": "nodes", "vpcId": vpc.ID, "ipBlockId": sim.DefaultIPBlockID, "prefixLength": 28})
		b.pass(sim.DefaultTimes().Subnet.Duration)
		request := fnnInstance("node-1", &vpc, fields{"vpcPrefixId": prefix.ID, "ipAddress": "127.100.0.9"})
		request["secondaryVpcIds"], request["tenantId"] = []string{unknown}, sim.DefaultTenantID
		instance := answer[api.Instance](b, 201, "POST", "/instance", request)
		b.Expect(instance.SecondaryVPCIDs).To(BeEmpty())
		b.pass(sim.DefaultTimes().InstanceMax.Duration)
		instance = answer[api.Instance](b, 200, "GET", "/instance/"+instance.ID, nil)
		b.Expect(instance.Interfaces[0].RequestedIPAddress).To(BeEmpty())
		b.Expect(instance.Interfaces[0].IPAddresses).To(Equal([]string{"127.100.0.1"}))
	}, native, first)
}

func TestRelease106_hasNoVPCPeeringsAndWantsTheTenantOfAnInstance(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for _, path := range []string{"/vpc-peering", "/vpc-peering/" + unknown} {
			status, text := b.call("GET", base+path, "")
			b.Expect(status).To(Equal(404))
			b.Expect(text).To(ContainSubstring("The requested path could not be found"))
		}
		request := instanceRequest("node-1", b.subnet(b.vpc("net"), "nodes"))
		request.TenantID = ""
		_, err := b.client.CreateInstance(b.t.Context(), request)
		b.Expect(err).To(MatchError(ContainSubstring("tenantId: a value is required")))
	}, first)
}

func first(c *sim.Config) { c.Release = sim.Release106 }
