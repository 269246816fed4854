package sim_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/bmm/client"
	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim"
)

func native(c *sim.Config) { c.Sites[0].NativeNetworking = true }

func newPrefix(vpc *client.VPC, name string, length int) fields {
	return fields{"name": name, "vpcId": vpc.ID, "ipBlockId": sim.DefaultIPBlockID, "prefixLength": length}
}

func (b bench) prefix(vpc *client.VPC, name string, length int) api.VPCPrefix {
	return answer[api.VPCPrefix](b, 201, "POST", "/vpc-prefix", newPrefix(vpc, name, length))
}

func fnnInstance(name string, vpc *client.VPC, interfaces ...fields) fields {
	return fields{
		"name": name, "vpcId": vpc.ID, "instanceTypeId": sim.DefaultInstanceTypeID, "ipxeScript": "#!ipxe", "interfaces": interfaces,
	}
}

func TestPrefixes_areCutFromTheBlockAndReadyAtOnce(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc := b.vpc("net")
		first, second := b.prefix(vpc, "a1", 24), b.prefix(vpc, "a2", 31)
		b.Expect(first.Status).To(Equal(api.VPCPrefixStatusReady))
		b.Expect([]string{first.Prefix, second.Prefix}).To(Equal([]string{"127.100.0.0/24", "127.100.1.0/31"}))
		b.expectRefusals(map[string]refusal{
			"prefix of a taken name":        {"POST", "/vpc-prefix", with(b, newPrefix(vpc, "a1", 24), nil), 409, first.ID},
			"prefix that is too long":       {"POST", "/vpc-prefix", with(b, newPrefix(vpc, "a3", 32), nil), 400, "prefixLength"},
			"prefix that is too short":      {"POST", "/vpc-prefix", with(b, newPrefix(vpc, "a3", 7), nil), 400, "prefixLength"},
			"prefix larger than the block":  {"POST", "/vpc-prefix", with(b, newPrefix(vpc, "a3", 16), nil), 400, "IPAM entry"},
			"prefix from an unknown block":  {"POST", "/vpc-prefix", with(b, newPrefix(vpc, "a3", 24), fields{"ipBlockId": unknown}), 400, "IPBlock"},
			"prefix of an unknown VPC":      {"POST", "/vpc-prefix", with(b, newPrefix(vpc, "a3", 24), fields{"vpcId": unknown}), 400, "Could not find VPC"},
			"prefix that isn't there":       {"GET", "/vpc-prefix/" + unknown, "", 404, "Could not find VPC Prefix"},
			"DELETE of a VPC with prefixes": {"DELETE", "/vpc/" + vpc.ID, "", 400, "VPC Prefixes"},
		})
		answer[nothing](b, 202, "DELETE", "/vpc-prefix/"+first.ID, nil)
		b.Expect(b.status("vpc-prefix", first.ID)).To(Equal("Deleting"))
		b.pass(10 * time.Second)
		b.Expect(b.status("vpc-prefix", first.ID)).To(Equal("gone"))
	}, native)
}

func TestPrefixes_areForFNNOnly(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.expectRefusals(map[string]refusal{
			"prefix": {"POST", "/vpc-prefix", with(b, newPrefix(b.vpc("net"), "a1", 24), nil), 400, "must have FNN network virtualization type"},
		})
	})
}

func TestInstancesOnPrefixes_haveTheOddAddressOfAPair(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc := b.vpc("net")
		prefix := b.prefix(vpc, "nodes", 29)
		wanted := func(address string) fields { return fields{"vpcPrefixId": prefix.ID, "ipAddress": address} }
		ids := []string{}
		for name, nic := range map[string]fields{"node-1": {"vpcPrefixId": prefix.ID}, "node-2": wanted("127.100.0.5")} {
			ids = append(ids, answer[api.Instance](b, 201, "POST", "/instance", fnnInstance(name, vpc, nic)).ID)
		}
		b.pass(15 * time.Minute)
		var addresses []string
		for _, id := range ids {
			addresses = append(addresses, answer[api.Instance](b, 200, "GET", "/instance/"+id, nil).Interfaces[0].IPAddresses...)
		}
		b.Expect(addresses).To(ConsistOf("127.100.0.1", "127.100.0.5"))
		refused := func(nics ...fields) string { return with(b, fnnInstance("node-3", vpc, nics...), nil) }
		anywhere, nowhere := fields{"vpcPrefixId": prefix.ID}, fields{"subnetId": unknown}
		b.expectRefusals(map[string]refusal{
			"even address":      {"POST", "/instance", refused(wanted("127.100.0.4")), 400, "final host bit"},
			"address elsewhere": {"POST", "/instance", refused(wanted("127.100.0.9")), 400, "is not in VPC Prefix"},
			"used address":      {"POST", "/instance", refused(wanted("127.100.0.5")), 400, "already in use"},
			"address twice":     {"POST", "/instance", refused(wanted("127.100.0.3"), wanted("127.100.0.3")), 400, "already in use"},
			"no address":        {"POST", "/instance", refused(wanted("here")), 400, "valid IPv4"},
			"unknown prefix":    {"POST", "/instance", refused(fields{"vpcPrefixId": unknown}), 400, "not found in DB"},
			"prefix and subnet": {"POST", "/instance", refused(fields{"vpcPrefixId": prefix.ID, "subnetId": unknown}), 400, "together"},
			"prefixes, subnets": {"POST", "/instance", refused(anywhere, nowhere), 400, "either Subnet or VPC Prefix"},
			"prefix in use":     {"DELETE", "/vpc-prefix/" + prefix.ID, "", 400, "being used"},
			"three of two left": {"POST", "/instance", refused(anywhere, anywhere, anywhere), 400, "no address left"},
		})
	}, native)
}

func TestSecondaryVPCs_areExactlyThoseOfTheOtherPrefixes(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc, other := b.vpc("net"), b.vpc("other")
		near := fields{"vpcPrefixId": b.prefix(vpc, "a1", 24).ID, "isPhysical": true}
		far := fields{"vpcPrefixId": b.prefix(other, "b1", 24).ID}
		refused := func(secondary []string, nics ...fields) string {
			return with(b, fnnInstance("node-1", vpc, nics...), fields{"secondaryVpcIds": secondary})
		}
		b.expectRefusals(map[string]refusal{
			"the other isn't named":     {"POST", "/instance", refused([]string{}, near, far), 400, "Secondary VPCs"},
			"the other isn't used":      {"POST", "/instance", refused([]string{other.ID}, near), 400, "no Interface is in VPC"},
			"the primary is in another": {"POST", "/instance", refused([]string{other.ID}, far), 400, "primary Interface"},
		})
		request := fnnInstance("node-1", vpc, near, far)
		request["secondaryVpcIds"] = []string{other.ID}
		instance := answer[api.Instance](b, 201, "POST", "/instance", request)
		b.Expect(instance.SecondaryVPCIDs).To(Equal([]string{other.ID}))
		b.expectRefusals(map[string]refusal{"secondary VPC": {"DELETE", "/vpc/" + other.ID, "", 400, "Cannot delete VPC"}})
	}, native)
}

func TestRoutingProfiles_areForFNNOnly(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		b.expectRefusals(map[string]refusal{
			"unknown": {"POST", "/vpc", newVPCBody(b, fields{"routingProfile": "scenic"}), 400, "routingProfile"},
			"Ethernet": {
				"POST", "/vpc", newVPCBody(b, fields{"routingProfile": "internal", "networkVirtualizationType": "ETHERNET_VIRTUALIZER"}), 400, "FNN",
			},
		})
		vpc := answer[api.VPC](b, 201, "POST", "/vpc", fields{
			"name": "net", "siteId": sim.DefaultSiteID, "routingProfile": "internal", "vni": 4711,
		})
		b.Expect(vpc.RoutingProfile).To(Equal("internal"))
		b.Expect(vpc.VNI).To(Equal(4711))
	}, native)
}
