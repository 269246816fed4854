package client_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/sim"
)

// newVPC makes one that is available.
func (b bench) newVPC(name string) *client.VPC {
	b.t.Helper()
	made := must(b.CreateVPC(b.t.Context(), region, name, group))
	b.pass(5 * time.Second)
	return made
}

// newSubnet makes one that is available.
func (b bench) newSubnet(vpc *client.VPC, name, zone string) *client.Subnet {
	b.t.Helper()
	made := must(b.CreateSubnet(b.t.Context(), region, client.SubnetRequest{Name: name, VPCID: vpc.ID, Zone: zone, ResourceGroupID: group}))
	b.pass(5 * time.Second)
	return made
}

func TestVPC_fromCreationToDeletion(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		b.Expect(b.RegionZones(ctx, region)).To(ConsistOf("us-south-1", "us-south-2", "us-south-3"))
		b.Expect(b.RegionZones(ctx, "eu-de")).To(HaveLen(3))
		b.Expect(b.VPCs(ctx, region)).To(BeEmpty())
		made := must(b.CreateVPC(ctx, region, "demo", group))
		b.Expect(made.Status).To(Equal("pending"))
		_, err := b.CreateSubnet(ctx, region, client.SubnetRequest{Name: "s", VPCID: made.ID, Zone: "us-south-1", ResourceGroupID: group})
		b.Expect(err).To(beOf(fault.Busy), "the VPC isn't available")
		b.pass(5 * time.Second)
		found := must(b.VPC(ctx, region, made.ID))
		b.Expect(*found).To(And(HaveField("Status", "available"), HaveField("Name", "demo"), HaveField("ResourceGroup.ID", group),
			HaveField("DefaultSecurityGroup.ID", Not(BeEmpty())), HaveField("CRN", Not(BeEmpty()))))
		b.Expect(b.VPCs(ctx, region)).To(ConsistOf(*found))
		b.Expect(b.VPCs(ctx, "eu-de")).To(BeEmpty())
		b.Expect(errorOf(b.VPC(ctx, "eu-de", made.ID))).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.CreateVPC(ctx, region, "demo", group))).To(beOf(fault.Conflict))
		b.Expect(errorOf(b.CreateVPC(ctx, region, "-demo", group))).To(beOf(fault.Invalid))

		subnet := b.newSubnet(found, "s", "us-south-1")
		b.Expect(b.DeleteVPC(ctx, region, made.ID)).To(beOf(fault.Busy))
		b.Expect(b.DeleteSubnet(ctx, region, subnet.ID)).To(Succeed())
		b.pass(10 * time.Second)
		b.Expect(b.DeleteSubnet(ctx, region, subnet.ID)).To(beOf(fault.NotFound))
		b.Expect(b.DeleteVPC(ctx, region, made.ID)).To(Succeed())
		b.pass(10 * time.Second)
		b.Expect(errorOf(b.VPC(ctx, region, made.ID))).To(beOf(fault.NotFound))
		b.Expect(b.DeleteVPC(ctx, region, made.ID)).To(beOf(fault.NotFound))
	})
}

func TestVPCs_areReadInPages(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		for i := range 101 {
			b.newVPC(fmt.Sprintf("net-%d", i))
		}
		b.Expect(b.VPCs(b.t.Context(), region)).To(HaveLen(101))
		b.Expect(b.cloud.Calls()).To(HaveKeyWithValue("vpc.listVPCs", 3))
	}, func(c *sim.Config) { c.Quotas.VPCs = 200 })
}

func TestSubnets_areListedByTheirVPC(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		one, other := b.newVPC("one"), b.newVPC("other")
		mine, theirs := b.newSubnet(one, "same-name", "us-south-2"), b.newSubnet(other, "same-name", "us-south-2")
		b.Expect(b.Subnets(ctx, region, one.ID)).To(ConsistOf(HaveField("ID", mine.ID)))
		b.Expect(b.Subnets(ctx, region, other.ID)).To(ConsistOf(HaveField("ID", theirs.ID)))
		b.Expect(b.Subnets(ctx, region, nothing)).To(BeEmpty())
		sent := &recorder{}
		must(b.connect(sent.through).Subnets(ctx, region, one.ID))
		b.Expect(sent.urls()).To(ContainElement(ContainSubstring("vpc.id="+one.ID)), "the service leaves out the others")
		b.Expect(b.Subnet(ctx, region, mine.ID)).To(HaveValue(And(
			HaveField("VPC.ID", one.ID), HaveField("Zone.Name", "us-south-2"), HaveField("CIDR", Not(BeEmpty())), HaveField("Status", "available"))))

		request := client.SubnetRequest{Name: "same-name", VPCID: one.ID, Zone: "us-south-1", ResourceGroupID: group}
		b.Expect(errorOf(b.CreateSubnet(ctx, region, request))).To(beOf(fault.Conflict))
		request.Name, request.CIDR = "third", "10.240.64.0/28"
		b.Expect(errorOf(b.CreateSubnet(ctx, region, request))).To(beOf(fault.Invalid), "not of that zone")
		request.Zone = "us-south-2"
		b.Expect(errorOf(b.CreateSubnet(ctx, region, request))).To(beOf(fault.Invalid), "overlaps")
		request.CIDR = "10.240.65.0/28"
		b.Expect(b.CreateSubnet(ctx, region, request)).To(HaveValue(HaveField("CIDR", request.CIDR)))
		request.Name, request.CIDR, request.Zone = "fourth", "", "mars-1"
		b.Expect(errorOf(b.CreateSubnet(ctx, region, request))).To(beOf(fault.Invalid))
		request.VPCID = nothing
		b.Expect(errorOf(b.CreateSubnet(ctx, region, request))).To(beOf(fault.Invalid))
	})
}

func TestSecurityGroups_haveRules(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		vpc, other := b.newVPC("demo"), b.newVPC("other")
		rule := client.SecurityGroupRule{
			Direction: "inbound", Protocol: "tcp", PortMin: ptr.To[int64](6443), PortMax: ptr.To[int64](6443),
			Remote: client.RuleRemote{CIDR: "0.0.0.0/0"},
		}
		made := must(b.CreateSecurityGroup(ctx, region, vpc.ID, "api", group, []client.SecurityGroupRule{rule}))
		b.Expect(made.Rules).To(ConsistOf(And(HaveField("PortMin", HaveValue(BeEquivalentTo(6443))), HaveField("Remote", rule.Remote))))
		b.Expect(b.SecurityGroup(ctx, region, made.ID)).To(HaveValue(Equal(*made)))
		b.Expect(b.SecurityGroups(ctx, region, vpc.ID)).To(ConsistOf(HaveField("ID", vpc.DefaultSecurityGroup.ID), HaveField("ID", made.ID)))
		b.Expect(b.SecurityGroups(ctx, region, other.ID)).To(HaveLen(1))
		b.Expect(errorOf(b.CreateSecurityGroup(ctx, region, vpc.ID, "api", group, nil))).To(beOf(fault.Conflict))

		from := client.SecurityGroupRule{
			Direction: "inbound", Protocol: "icmp", ICMPType: ptr.To[int64](8), Remote: client.RuleRemote{SecurityGroupID: made.ID},
		}
		added := must(b.CreateSecurityGroupRule(ctx, region, vpc.DefaultSecurityGroup.ID, from))
		b.Expect(*added).To(And(HaveField("Remote.SecurityGroupID", made.ID), HaveField("ICMPType", HaveValue(BeEquivalentTo(8)))))
		b.Expect(b.SecurityGroupRules(ctx, region, vpc.DefaultSecurityGroup.ID)).To(HaveLen(3))
		b.Expect(b.SecurityGroupRule(ctx, region, vpc.DefaultSecurityGroup.ID, added.ID)).To(HaveValue(Equal(*added)))
		b.Expect(b.DeleteSecurityGroup(ctx, region, made.ID)).To(beOf(fault.Busy), "a rule refers to it")
		b.Expect(b.DeleteSecurityGroupRule(ctx, region, vpc.DefaultSecurityGroup.ID, added.ID)).To(Succeed())
		b.Expect(b.DeleteSecurityGroupRule(ctx, region, vpc.DefaultSecurityGroup.ID, added.ID)).To(beOf(fault.NotFound))
		b.Expect(b.DeleteSecurityGroup(ctx, region, vpc.DefaultSecurityGroup.ID)).To(beOf(fault.Invalid))
		b.Expect(b.DeleteSecurityGroup(ctx, region, made.ID)).To(Succeed())
		b.Expect(b.DeleteSecurityGroup(ctx, region, made.ID)).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.SecurityGroupRules(ctx, region, made.ID))).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.SecurityGroupRule(ctx, region, made.ID, nothing))).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.CreateSecurityGroupRule(ctx, region, made.ID, rule))).To(beOf(fault.Invalid))
	})
}

func TestSecurityGroups_areLimited(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		vpc := b.newVPC("demo")
		rule := client.SecurityGroupRule{Direction: "inbound", Protocol: "any"}
		b.Expect(errorOf(b.CreateSecurityGroupRule(b.t.Context(), region, vpc.DefaultSecurityGroup.ID, rule))).To(beOf(fault.Quota))
		b.Expect(errorOf(b.CreateVPC(b.t.Context(), region, "more", group))).To(beOf(fault.Quota))
	}, func(c *sim.Config) { c.Quotas.Rules, c.Quotas.VPCs = 2, 1 })
}
