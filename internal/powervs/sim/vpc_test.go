package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/IBM/vpc-go-sdk/vpcv1"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func (n networks) vpcStatus(id *string) string {
	vpc, response, err := n.vpc.GetVPCWithContext(n.t.Context(), &vpcv1.GetVPCOptions{ID: id})
	if err != nil {
		return answered(response, err)
	}
	return *vpc.Status
}

func (n networks) deleteVPC(id *string) string {
	return answered(n.vpc.DeleteVPCWithContext(n.t.Context(), &vpcv1.DeleteVPCOptions{ID: id}))
}

func (n networks) subnetStatus(id *string) string {
	subnet, response, err := n.vpc.GetSubnetWithContext(n.t.Context(), &vpcv1.GetSubnetOptions{ID: id})
	if err != nil {
		return answered(response, err)
	}
	return *subnet.Status
}

func (n networks) deleteSubnet(id *string) string {
	return answered(n.vpc.DeleteSubnetWithContext(n.t.Context(), &vpcv1.DeleteSubnetOptions{ID: id}))
}

func TestVPC_takesItsTimeToComeAndToGo(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		made, response, err := n.vpc.CreateVPC(&vpcv1.CreateVPCOptions{Name: ptr.To("net"), ResourceGroup: group()})
		n.Expect(answered(response, err)).To(Equal("201"))
		n.Expect(*made.Status).To(Equal("pending"))
		n.Expect(*made.CRN).To(Equal("crn:v1:bluemix:public:is:us-south:a/" + sim.DefaultAccount + "::vpc:" + *made.ID))
		n.Expect(*made.ResourceGroup.Name).To(Equal(sim.DefaultResourceGroup))
		n.pass(5 * time.Second)
		n.Expect(n.vpcStatus(made.ID)).To(Equal("available"))

		group, _, err := n.vpc.GetSecurityGroup(&vpcv1.GetSecurityGroupOptions{ID: made.DefaultSecurityGroup.ID})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(*group.VPC.ID).To(Equal(*made.ID))
		n.Expect(group.Rules).To(HaveLen(2), "all that leaves, and what is between its members")

		n.Expect(n.deleteVPC(made.ID)).To(Equal("204"))
		n.Expect(n.vpcStatus(made.ID)).To(Equal("deleting"))
		n.Expect(n.deleteVPC(made.ID)).To(Equal("204"), "twice is allowed")
		_, response, err = n.vpc.CreateVPC(&vpcv1.CreateVPCOptions{Name: ptr.To("net")})
		n.Expect(answered(response, err)).To(Equal("400 validation_unique_failed"), "it has its name until it is gone")
		n.pass(10 * time.Second)
		n.Expect(n.vpcStatus(made.ID)).To(Equal("404 not_found"))
		n.Expect(n.deleteVPC(made.ID)).To(Equal("404 not_found"))
		n.Expect(n.cloud.State().Empty()).To(BeTrue(), "its security group has gone with it")
	})
}

func TestVPC_isOfOneRegion(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc := n.newVPC("net")
		_, response, err := n.otherVPC.GetVPC(&vpcv1.GetVPCOptions{ID: vpc.ID})
		n.Expect(answered(response, err)).To(Equal("404 not_found"))
		other, response, err := n.otherVPC.CreateVPC(&vpcv1.CreateVPCOptions{Name: ptr.To("net")})
		n.Expect(answered(response, err)).To(Equal("201"), "names are those of a region")
		n.Expect(*other.CRN).To(ContainSubstring(":is:eu-de:"))
		list, _, err := n.vpc.ListVpcs(&vpcv1.ListVpcsOptions{})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(list.Vpcs).To(HaveLen(1))
		n.Expect(n.cloud.VPC("mars")).To(BeNil())
	})
}

func TestVPC_failsIfThatIsItsOutcome(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		n.Expect(n.cloud.SetOutcome(sim.Outcome{Kind: sim.KindVPC, Status: "failed"})).To(Succeed())
		n.Expect(n.vpcStatus(n.newVPC("net").ID)).To(Equal("failed"))
	})
}

func TestZones_areThoseOfTheRegion(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		zones, _, err := n.vpc.ListRegionZones(&vpcv1.ListRegionZonesOptions{RegionName: ptr.To(otherRegion)})
		n.Expect(err).NotTo(HaveOccurred())
		names := []string{}
		for _, z := range zones.Zones {
			names = append(names, *z.Name)
		}
		n.Expect(names).To(Equal([]string{"eu-de-1", "eu-de-2", "eu-de-3"}))
		_, response, err := n.vpc.ListRegionZones(&vpcv1.ListRegionZonesOptions{RegionName: ptr.To("mars")})
		n.Expect(answered(response, err)).To(Equal("404 not_found"))
	})
}

func TestVPCs_areListedPageByPage(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		for i := range 5 {
			n.newVPC(fmt.Sprintf("net-%d", i))
		}
		first, _, err := n.vpc.ListVpcs(&vpcv1.ListVpcsOptions{Limit: ptr.To[int64](2)})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(*first.TotalCount).To(BeEquivalentTo(5))
		n.Expect(*first.Vpcs[1].Name).To(Equal("net-1"))
		start, err := first.GetNextStart()
		n.Expect(err).NotTo(HaveOccurred())
		second, _, err := n.vpc.ListVpcs(&vpcv1.ListVpcsOptions{Limit: ptr.To[int64](2), Start: start})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(n.deleteVPC(second.Vpcs[0].ID)).To(Equal("204"))
		n.pass(10 * time.Second)
		rest, _, err := n.vpc.ListVpcs(&vpcv1.ListVpcsOptions{Limit: ptr.To[int64](50), Start: start})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect([]string{*rest.Vpcs[0].Name, *rest.Vpcs[1].Name}).To(Equal([]string{"net-3", "net-4"}), "where the page begins is gone")
		n.Expect(rest.GetNextStart()).To(BeNil())

		pager, err := n.vpc.NewVpcsPager(&vpcv1.ListVpcsOptions{Limit: ptr.To[int64](3), ResourceGroupID: ptr.To(sim.DefaultResourceGroupID)})
		n.Expect(err).NotTo(HaveOccurred())
		all, err := pager.GetAllWithContext(n.t.Context())
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(all).To(HaveLen(4))
		none, _, err := n.vpc.ListVpcs(&vpcv1.ListVpcsOptions{ResourceGroupID: ptr.To("other")})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(none.Vpcs).To(BeEmpty())
		for _, query := range []string{"&limit=0", "&limit=101", "&limit=x", "&start=x", "&name=net-1"} {
			status, _ := n.call("GET", vpcHost, "/v1/vpcs"+vpcQuery+query, "")
			n.Expect(status).To(Equal(400), query)
		}
	})
}

func TestVPCRequests_thatAreRefused(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		n.newVPC("net")
		n.expectRefusals(vpcHost, vpcQuery, map[string]refusal{
			"taken name":      {"POST", "/v1/vpcs", `{"name": "net"}`, 400, "validation_unique_failed"},
			"upper case":      {"POST", "/v1/vpcs", `{"name": "Net"}`, 400, "validation_invalid_name"},
			"dash at the end": {"POST", "/v1/vpcs", `{"name": "net-"}`, 400, "validation_invalid_name"},
			"only digits":     {"POST", "/v1/vpcs", `{"name": "123"}`, 400, "validation_invalid_name"},
			"IBM's name":      {"POST", "/v1/vpcs", `{"name": "ibm-net"}`, 400, "validation_invalid_name"},
			"empty name":      {"POST", "/v1/vpcs", `{"name": ""}`, 400, "validation_invalid_name"},
			"long name":       {"POST", "/v1/vpcs", `{"name": "` + fmt.Sprintf("n%063d", 1) + `"}`, 400, "validation_invalid_name"},
			"unknown group":   {"POST", "/v1/vpcs", `{"resource_group": {"id": "none"}}`, 400, "resource_group_not_found"},
			"unknown field":   {"POST", "/v1/vpcs", `{"nom": "xx"}`, 400, "bad_request"},
			"no such path":    {"POST", "/v1/clouds", `{}`, 404, "not_found"},
			"quota":           {"POST", "/v1/vpcs", `{"name": "more"}`, 400, "over_quota"},
		})
		for query, code := range map[string]string{
			"":                                  "missing_version",
			"?version=today&generation=2":       "missing_version",
			"?version=2018-12-31&generation=2":  "missing_version",
			"?version=2025-12-09":               "missing_generation_parameter",
			"?version=2025-12-09&generation=1":  "invalid_generation_parameter",
			"?version=2025-12-09T00&generation": "missing_version",
		} {
			n.expectRefusals(vpcHost, query, map[string]refusal{query: {"GET", "/v1/vpcs", "", 400, code}})
		}
		n.Expect(n.cloud.State()[sim.KindVPC]).To(HaveLen(1))

		for _, token := range []string{"", "made-up"} {
			status, body := n.callAs(token, "GET", vpcHost, "/v1/vpcs"+vpcQuery, "")
			n.Expect(status).To(Equal(401))
			n.Expect(body).To(ContainSubstring("not_authorized"))
		}
	}, func(c *sim.Config) { c.Quotas.VPCs = 1 })
}

func TestSubnets_getTheNextFreeRangeOfTheirZone(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc := n.newVPC("net")
		first, second, other := n.newSubnet(vpc, "a1", zone), n.newSubnet(vpc, "a2", zone), n.newSubnet(vpc, "b1", region+"-2")
		n.Expect([]string{*first.Ipv4CIDRBlock, *second.Ipv4CIDRBlock, *other.Ipv4CIDRBlock}).
			To(Equal([]string{"10.240.0.0/24", "10.240.1.0/24", "10.240.64.0/24"}))
		n.Expect(*first.AvailableIpv4AddressCount).To(BeEquivalentTo(251))
		n.Expect(*first.Status).To(Equal("pending"))
		n.Expect(n.subnetStatus(first.ID)).To(Equal("available"))

		exact, response, err := n.vpc.CreateSubnet(&vpcv1.CreateSubnetOptions{SubnetPrototype: &vpcv1.SubnetPrototypeSubnetByCIDR{
			VPC: &vpcv1.VPCIdentityByID{ID: vpc.ID}, Zone: &vpcv1.ZoneIdentityByName{Name: ptr.To(zone)}, Ipv4CIDRBlock: ptr.To("10.240.2.0/28"),
		}})
		n.Expect(answered(response, err)).To(Equal("201"))
		n.Expect(*exact.TotalIpv4AddressCount).To(BeEquivalentTo(16))
		n.Expect(*exact.Name).NotTo(BeEmpty(), "one at random")
		n.Expect(*n.newSubnet(vpc, "a3", zone).Ipv4CIDRBlock).To(Equal("10.240.3.0/24"))

		n.Expect(n.deleteVPC(vpc.ID)).To(Equal("409 vpc_in_use"))
		n.Expect(n.deleteSubnet(first.ID)).To(Equal("204"))
		n.Expect(n.subnetStatus(first.ID)).To(Equal("deleting"))
		n.pass(10 * time.Second)
		n.Expect(n.subnetStatus(first.ID)).To(Equal("404 not_found"))
		n.Expect(*n.newSubnet(vpc, "a4", zone).Ipv4CIDRBlock).To(Equal("10.240.0.0/24"), "its range is free again")
	})
}

func TestSubnets_areListedByTheirVPC(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc, other := n.newVPC("net"), n.newVPC("other")
		n.newSubnet(vpc, "nodes", zone)
		n.newSubnet(other, "nodes", zone) // names are those of a VPC
		for want, o := range map[int]*vpcv1.ListSubnetsOptions{
			1: {VPCID: vpc.ID},
			2: {ZoneName: ptr.To(zone)},
			0: {ZoneName: ptr.To(zone), VPCName: ptr.To("none")},
		} {
			list, _, err := n.vpc.ListSubnets(o)
			n.Expect(err).NotTo(HaveOccurred())
			n.Expect(list.Subnets).To(HaveLen(want))
		}
	})
}

func TestSubnetRequests_thatAreRefused(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc := n.newVPC("net")
		n.newSubnet(vpc, "nodes", zone)
		n.pass(0)
		young, _, err := n.vpc.CreateVPC(&vpcv1.CreateVPCOptions{})
		n.Expect(err).NotTo(HaveOccurred())
		subnet := func(fields string) string {
			return fmt.Sprintf(`{"vpc": {"id": %q}, "zone": {"name": %q}, %s}`, *vpc.ID, zone, fields)
		}
		n.expectRefusals(vpcHost, vpcQuery, map[string]refusal{
			"taken name":     {"POST", "/v1/subnets", subnet(`"name": "nodes", "total_ipv4_address_count": 8`), 400, "validation_unique_failed"},
			"no size":        {"POST", "/v1/subnets", subnet(`"name": "xx"`), 400, "validation_only_one"},
			"two sizes":      {"POST", "/v1/subnets", subnet(`"total_ipv4_address_count": 8, "ipv4_cidr_block": "10.240.9.0/24"`), 400, "validation_only_one"},
			"small":          {"POST", "/v1/subnets", subnet(`"total_ipv4_address_count": 4`), 400, "validation_min_value"},
			"odd":            {"POST", "/v1/subnets", subnet(`"total_ipv4_address_count": 24`), 400, "validation_failure"},
			"too large":      {"POST", "/v1/subnets", subnet(`"total_ipv4_address_count": 32768`), 409, "insufficient_address_space"},
			"no network":     {"POST", "/v1/subnets", subnet(`"ipv4_cidr_block": "10.240.9.1/24"`), 400, "validation_invalid_ipv4_cidr"},
			"outside":        {"POST", "/v1/subnets", subnet(`"ipv4_cidr_block": "10.240.64.0/24"`), 400, "not_in_address_prefix"},
			"overlap":        {"POST", "/v1/subnets", subnet(`"ipv4_cidr_block": "10.240.0.128/25"`), 409, "subnet_conflict"},
			"no VPC":         {"POST", "/v1/subnets", `{"zone": {"name": "us-south-1"}, "total_ipv4_address_count": 8}`, 400, "validation_required_field"},
			"unknown VPC":    {"POST", "/v1/subnets", `{"vpc": {"id": "none"}, "zone": {"name": "us-south-1"}, "total_ipv4_address_count": 8}`, 404, "not_found"},
			"pending VPC":    {"POST", "/v1/subnets", `{"vpc": {"id": "` + *young.ID + `"}, "zone": {"name": "us-south-1"}, "total_ipv4_address_count": 8}`, 409, "vpc_unknown_state"},
			"no zone":        {"POST", "/v1/subnets", `{"vpc": {"id": "` + *vpc.ID + `"}, "total_ipv4_address_count": 8}`, 400, "validation_required_field"},
			"another region": {"POST", "/v1/subnets", `{"vpc": {"id": "` + *vpc.ID + `"}, "zone": {"name": "eu-de-1"}, "total_ipv4_address_count": 8}`, 404, "not_found"},
			"unknown subnet": {"DELETE", "/v1/subnets/none", "", 404, "not_found"},
		})
		n.newSubnet(vpc, "more", zone)
		n.expectRefusals(vpcHost, vpcQuery, map[string]refusal{
			"quota": {"POST", "/v1/subnets", subnet(`"total_ipv4_address_count": 8`), 400, "over_quota"},
		})
	}, func(c *sim.Config) { c.Quotas.Subnets = 2 })
}
