package sim_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

const (
	neighbourID    = "7e4a0000-0000-4000-8000-0000000000ff"
	neighbourBlock = "1b10c000-0000-4000-8000-0000000000ff"
	neighbourVPC   = "ffc00000-0000-4000-8000-0000000000ff"
)

// withNeighbour is a world with another tenant, who has a VPC at the site.
func withNeighbour(c *sim.Config) {
	c.OtherTenants = []sim.Tenant{{ID: neighbourID, Name: "neighbour"}}
	block := c.IPBlocks[0]
	block.ID, block.TenantID, block.Name, block.PrefixLength = neighbourBlock, neighbourID, "block-2", 24
	block.Prefix = netip.MustParseAddr("127.101.0.0")
	c.IPBlocks = append(c.IPBlocks, block)
	c.Objects = []sim.Object{{
		Kind: sim.KindVPC, ID: neighbourVPC, TenantID: neighbourID, Request: api.VPCCreateRequest{Name: "theirs", SiteID: sim.DefaultSiteID},
	}}
}

func peer(first, second string) fields {
	return fields{"siteId": sim.DefaultSiteID, "vpc1Id": first, "vpc2Id": second}
}

func TestPeerings_areReadyAndGoneAtOnce(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		first, second := b.vpc("net"), b.vpc("other")
		peering := answer[api.VPCPeering](b, 201, "POST", "/vpc-peering", peer(first.ID, second.ID))
		b.Expect(peering.Status).To(Equal(api.VPCPeeringStatusReady))
		b.Expect(peering.IsMultiTenant).To(BeFalse())
		b.Expect(answer[[]api.VPCPeering](b, 200, "GET", "/vpc-peering", nil)).To(HaveLen(1))
		answer[nothing](b, 204, "DELETE", "/vpc-peering/"+peering.ID, nil)
		b.Expect(b.status("vpc-peering", peering.ID)).To(Equal("gone"))
		answer[nothing](b, 202, "DELETE", "/vpc/"+second.ID, nil)
	})
}

// A peering keeps no VPC and outlives it, until the site's next inventory: lists have it, and neither can it be asked for nor
// deleted.
func TestAPeering_whoseVPCIsGoneIsNotFound(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		times := sim.DefaultTimes()
		first, second := b.vpc("net"), b.vpc("other")
		peering := answer[api.VPCPeering](b, 201, "POST", "/vpc-peering", peer(first.ID, second.ID))
		answer[nothing](b, 202, "DELETE", "/vpc/"+second.ID, nil)
		answer[api.VPCPeering](b, 200, "GET", "/vpc-peering/"+peering.ID, nil)
		b.pass(times.VPCDelete.Duration)
		path, says := "/vpc-peering/"+peering.ID, "Could not find VPC with ID: "+second.ID
		b.expectRefusals(map[string]refusal{
			"GET":    {"GET", path, "", 404, says},
			"DELETE": {"DELETE", path, "", 404, says},
		})
		b.Expect(answer[[]api.VPCPeering](b, 200, "GET", "/vpc-peering", nil)).To(ConsistOf(HaveField("ID", peering.ID)))
		b.pass(times.Inventory.Duration + times.InventoryDelay.Duration)
		b.expectRefusals(map[string]refusal{"GET": {"GET", path, "", 404, "Could not find VPC peering with ID: " + peering.ID}})
		b.Expect(answer[[]api.VPCPeering](b, 200, "GET", "/vpc-peering", nil)).To(BeEmpty())
		answer[nothing](b, 202, "DELETE", "/vpc/"+first.ID, nil)
	})
}

func TestPeerings_thatAreRefused(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		w := populate(b)
		first, second := w.vpc.ID, w.other.VPCID
		peering := answer[api.VPCPeering](b, 201, "POST", "/vpc-peering", peer(first, second))
		refused := func(first, second string) string { return with(b, peer(first, second), nil) }
		b.expectRefusals(map[string]refusal{
			"the same peering again":    {"POST", "/vpc-peering", refused(first, second), 409, "already exists"},
			"the same the other way":    {"POST", "/vpc-peering", refused(second, first), 409, "already exists"},
			"a VPC with itself":         {"POST", "/vpc-peering", refused(first, first), 400, "another VPC"},
			"a VPC that isn't there":    {"POST", "/vpc-peering", refused(first, unknown), 404, unknown},
			"a VPC that isn't ready":    {"POST", "/vpc-peering", refused(first, w.young.ID), 400, "Ready state"},
			"a site that isn't there":   {"POST", "/vpc-peering", with(b, peer(first, second), fields{"siteId": unknown}), 400, "Could not find Site"},
			"peering that isn't there":  {"GET", "/vpc-peering/" + unknown, "", 404, "Could not find VPC peering"},
			"DELETE of what isn't":      {"DELETE", "/vpc-peering/" + unknown, "", 404, "Could not find VPC peering"},
			"DELETE of an ID like none": {"DELETE", "/vpc-peering/" + peering.ID[1:], "", 400, "Invalid ID"},
		})
	})
}

func TestAPeeringWithAnotherTenant_isForProvidersOnly(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc := b.vpc("net")
		body := with(b, peer(vpc.ID, neighbourVPC), nil)
		status, text := b.callAs(tenantToken, "POST", base+"/vpc-peering", body)
		b.Expect(status).To(Equal(403), text)
		b.Expect(text).To(ContainSubstring("User does not have access to create the VPC peering"))

		peering := answer[api.VPCPeering](b, 201, "POST", "/vpc-peering", peer(vpc.ID, neighbourVPC))
		b.Expect(peering.IsMultiTenant).To(BeTrue())
		b.Expect(answerTo[api.VPCPeering](b, tenantToken, 200, "GET", "/vpc-peering/"+peering.ID, nil).ID).To(Equal(peering.ID))
		status, text = b.callAs(tenantToken, "DELETE", base+"/vpc-peering/"+peering.ID, "")
		b.Expect(status).To(Equal(403), text)
		answer[nothing](b, 204, "DELETE", "/vpc-peering/"+peering.ID, nil)
	}, withRoles, withNeighbour)
}

func TestAnotherTenantsObjects_areForbiddenAndNotHidden(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		w := populate(b)
		theirs := "/vpc/" + neighbourVPC
		b.expectRefusals(map[string]refusal{
			"GET of their VPC":        {"GET", theirs, "", 403, "VPC does not belong to current Tenant"},
			"PATCH of their VPC":      {"PATCH", theirs, `{"name": "ours"}`, 403, "does not belong"},
			"DELETE of their VPC":     {"DELETE", theirs, "", 403, "does not belong"},
			"GET of their block":      {"GET", "/ipblock/" + neighbourBlock, "", 403, "does not belong"},
			"a subnet in their VPC":   {"POST", "/subnet", w.newSubnet(b, fields{"vpcId": neighbourVPC}), 400, "not owned by Tenant"},
			"an instance in theirs":   {"POST", "/instance", w.newInstance(b, fields{"vpcId": neighbourVPC}), 400, "not owned by Tenant"},
			"a subnet of their block": {"POST", "/subnet", w.newSubnet(b, fields{"ipv4BlockId": neighbourBlock}), 400, "does not belong to tenant"},
			"a VPC of their ID":       {"POST", "/vpc", newVPCBody(b, fields{"id": neighbourVPC}), 409, neighbourVPC},
		})
		b.Expect(answer[[]api.VPC](b, 200, "GET", "/vpc?query=theirs", nil)).To(BeEmpty())
		answer[api.VPC](b, 201, "POST", "/vpc", fields{"name": "theirs", "siteId": sim.DefaultSiteID}) // names are each tenant's own
	}, withNeighbour)
}
