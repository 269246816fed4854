package sim_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

const (
	tenantToken   = "tenant-token"
	providerToken = "provider-token"
)

// withRoles gives a token to a tenant and one to a provider.
func withRoles(c *sim.Config) {
	c.Tokens = append(c.Tokens, tenantToken, providerToken)
	c.TokenRoles = map[string][]sim.Role{tenantToken: {sim.TenantAdmin}, providerToken: {sim.ProviderAdmin}}
}

// withoutBlocks is a site at which the tenant has nothing.
func withoutBlocks(c *sim.Config) { c.IPBlocks = nil }

func newBlock(changes fields) fields {
	block := fields{
		"name": "range", "siteId": sim.DefaultSiteID, "routingType": "DatacenterOnly", "prefix": "127.110.0.0", "prefixLength": 16,
		"protocolVersion": "IPv4",
	}
	for name, value := range changes {
		block[name] = value
	}
	return block
}

func newAllocation(resourceType, id string, value int, changes fields) fields {
	allocation := fields{
		"name": "share", "tenantId": sim.DefaultTenantID, "siteId": sim.DefaultSiteID,
		"allocationConstraints": []fields{{
			"resourceType": resourceType, "resourceTypeId": id, "constraintType": "Reserved", "constraintValue": value,
		}},
	}
	for name, value := range changes {
		allocation[name] = value
	}
	return allocation
}

func TestAnAllocation_givesTheTenantABlockOfItsOwn(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.expectRefusals(map[string]refusal{"VPC before": {"POST", "/vpc", newVPCBody(b, nil), 403, "any Allocations"}})
		block := answer[api.IPBlock](b, 201, "POST", "/ipblock", newBlock(nil))
		b.Expect(block.TenantID).To(BeEmpty(), "it is the provider's")
		allocation := answer[api.Allocation](b, 201, "POST", "/allocation", newAllocation("IPBlock", block.ID, 20, nil))
		b.Expect(allocation.Status).To(Equal(api.AllocationStatusRegistered))
		own := answer[api.IPBlock](b, 200, "GET", "/ipblock/"+allocation.AllocationConstraints[0].DerivedResourceID, nil)
		b.Expect(own.TenantID).To(Equal(sim.DefaultTenantID))
		b.Expect([]any{own.Prefix, own.PrefixLength}).To(Equal([]any{"127.110.0.0", 20}))
		_, text := b.call("GET", base+"/allocation/"+allocation.ID, "")
		b.Expect(text).To(ContainSubstring(`"ResourceTypeID":"`+block.ID), "one key is spelled in another way than all others")

		vpc := b.vpc("net")
		newSubnet := func(block string) fields {
			return fields{"name": "nodes", "vpcId": vpc.ID, "ipv4BlockId": block, "prefixLength": 24}
		}
		subnet := answer[api.Subnet](b, 201, "POST", "/subnet", newSubnet(own.ID))
		b.expectRefusals(map[string]refusal{
			"provider's block in use": {"DELETE", "/ipblock/" + block.ID, "", 400, "1 Allocations exist"},
			"tenant's block":          {"DELETE", "/ipblock/" + own.ID, "", 400, "cannot be deleted directly"},
			"allocation in use":       {"DELETE", "/allocation/" + allocation.ID, "", 400, "1 Subnets exist"},
			"subnet of the provider's block": {
				"POST", "/subnet", with(b, newSubnet(block.ID), nil), 400, "does not belong to tenant",
			},
		})
		b.Expect(b.server.State().Empty()).To(BeFalse())
		answer[nothing](b, 202, "DELETE", "/subnet/"+subnet.ID, nil)
		b.pass(10 * time.Second)
		answer[nothing](b, 202, "DELETE", "/allocation/"+allocation.ID, nil)
		b.Expect(b.status("ipblock", own.ID)).To(Equal("gone"), "with its allocation")
		answer[nothing](b, 202, "DELETE", "/vpc/"+vpc.ID, nil)
		b.pass(15 * time.Second)
		answer[nothing](b, 202, "DELETE", "/ipblock/"+block.ID, nil)
		b.Expect(b.server.State().Empty()).To(BeTrue())
	}, withoutBlocks)
}

func TestBlocksAndAllocations_thatAreRefused(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		block := answer[api.IPBlock](b, 201, "POST", "/ipblock", newBlock(nil))
		share := answer[api.Allocation](b, 201, "POST", "/allocation", newAllocation("IPBlock", block.ID, 17, nil))
		blocks := func(changes fields) string {
			return with(b, newBlock(fields{"name": "other", "prefix": "127.120.0.0"}), changes)
		}
		allocations := func(kind, id string, value int, changes fields) string {
			return with(b, newAllocation(kind, id, value, fields{"name": "other"}), changes)
		}
		two := newAllocation("IPBlock", block.ID, 24, nil)["allocationConstraints"].([]fields)
		two = append(two, two...)
		b.expectRefusals(map[string]refusal{
			"block of a taken name":         {"POST", "/ipblock", blocks(fields{"name": "range"}), 409, block.ID},
			"block over another":            {"POST", "/ipblock", blocks(fields{"prefix": "127.110.128.0", "prefixLength": 17}), 409, "IPAM"},
			"block with host bits":          {"POST", "/ipblock", blocks(fields{"prefix": "127.120.0.1"}), 400, `"prefix"`},
			"block that is none":            {"POST", "/ipblock", blocks(fields{"prefix": "range"}), 400, `"prefix"`},
			"block at no site":              {"POST", "/ipblock", blocks(fields{"siteId": unknown}), 400, "Could not find Site"},
			"allocation of a taken name":    {"POST", "/allocation", allocations("IPBlock", block.ID, 24, fields{"name": "share"}), 409, share.ID},
			"allocation of nothing":         {"POST", "/allocation", allocations("IPBlock", unknown, 24, nil), 400, "Could not find IPBlock"},
			"allocation of two things":      {"POST", "/allocation", allocations("", "", 0, fields{"allocationConstraints": two}), 400, "allocationConstraints"},
			"allocation for nobody":         {"POST", "/allocation", allocations("IPBlock", block.ID, 24, fields{"tenantId": unknown}), 400, "Could not find Tenant"},
			"allocation beyond the block":   {"POST", "/allocation", allocations("IPBlock", block.ID, 15, nil), 400, "constraintValue"},
			"allocation of a taken range":   {"POST", "/allocation", allocations("IPBlock", block.ID, 16, nil), 409, "child IPAM entry"},
			"allocation of a share":         {"POST", "/allocation", allocations("IPBlock", sim.DefaultIPBlockID, 24, nil), 400, "does not belong to provider"},
			"allocation of an unknown type": {"POST", "/allocation", allocations("InstanceType", unknown, 1, nil), 400, "Instance Type"},
			"allocation of more than all":   {"POST", "/allocation", allocations("InstanceType", sim.DefaultInstanceTypeID, 9, nil), 409, "Not enough Machines"},
			"allocation that isn't there":   {"GET", "/allocation/" + unknown, "", 404, "does not exist"},
		})
	})
}

func TestMachines_needAnAllocationOfTheirType(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		w := populated{vpc: b.vpc("net")}
		w.subnet = b.subnet(w.vpc, "nodes")
		b.expectRefusals(map[string]refusal{
			"without allocation": {"POST", "/instance", w.newInstance(b, nil), 500, "No Allocations for specified Instance Type"},
		})
		share := answer[api.Allocation](b, 201, "POST", "/allocation", newAllocation("InstanceType", sim.DefaultInstanceTypeID, 1, nil))
		instance := b.instance("node-1", w.subnet)
		stats := answer[api.InstanceType](b, 200, "GET", "/instance/type/"+sim.DefaultInstanceTypeID, nil).AllocationStats
		b.Expect(stats).To(Equal(api.AllocationStats{Total: 1, Used: 1}))
		b.expectRefusals(map[string]refusal{
			"beyond the allocation": {"POST", "/instance", w.newInstance(b, nil), 403, "maximum number of Instances"},
			"allocation in use":     {"DELETE", "/allocation/" + share.ID, "", 400, "Deleting this Allocation"},
		})
		answer[nothing](b, 202, "DELETE", "/instance/"+instance.ID, nil)
		b.pass(3 * time.Minute)
		answer[nothing](b, 202, "DELETE", "/allocation/"+share.ID, nil)
	}, func(c *sim.Config) { c.InstanceTypes[0].Unallocated = true })
}

func TestRoles_decideWhoMayDoWhat(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		block := answerTo[api.IPBlock](b, providerToken, 201, "POST", "/ipblock", newBlock(nil))
		for name, row := range map[string]struct {
			token, method, path string
			status              int
		}{
			"tenant makes a block":        {tenantToken, "POST", "/ipblock", 403},
			"tenant deletes a block":      {tenantToken, "DELETE", "/ipblock/" + block.ID, 403},
			"tenant makes an allocation":  {tenantToken, "POST", "/allocation", 403},
			"tenant reads his block":      {tenantToken, "GET", "/ipblock/" + sim.DefaultIPBlockID, 200},
			"tenant reads the provider's": {tenantToken, "GET", "/ipblock/" + block.ID, 403},
			"provider reads it":           {providerToken, "GET", "/ipblock/" + block.ID, 200},
			"provider makes a VPC":        {providerToken, "POST", "/vpc", 403},
			"provider lists instances":    {providerToken, "GET", "/instance", 403},
			"provider lists sites":        {providerToken, "GET", "/site", 200},
		} {
			status, text := b.callAs(row.token, row.method, base+row.path, "")
			b.Expect(status).To(Equal(row.status), "%s: %s", name, text)
		}
		b.Expect(answerTo[[]api.IPBlock](b, tenantToken, 200, "GET", "/ipblock", nil)).To(HaveLen(1))
		b.Expect(answerTo[[]api.IPBlock](b, sim.DefaultToken, 200, "GET", "/ipblock", nil)).To(HaveLen(2))
		b.Expect(answerTo[api.ServiceAccount](b, tenantToken, 200, "GET", "/service-account/current", nil).Enabled).To(BeFalse())
		b.Expect(answer[api.ServiceAccount](b, 200, "GET", "/service-account/current", nil)).To(Equal(api.ServiceAccount{
			Enabled: true, InfrastructureProviderID: sim.DefaultProviderID, TenantID: sim.DefaultTenantID,
		}))
	}, withRoles)
}
