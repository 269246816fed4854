package sim_test

import (
	"fmt"
	"testing"

	"github.com/IBM/vpc-go-sdk/vpcv1"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/powervs/sim"
)

func (n networks) newGroup(vpc *vpcv1.VPC, name string, rules ...vpcv1.SecurityGroupRulePrototypeIntf) *vpcv1.SecurityGroup {
	n.t.Helper()
	made, response, err := n.vpc.CreateSecurityGroup(&vpcv1.CreateSecurityGroupOptions{
		VPC: &vpcv1.VPCIdentityByID{ID: vpc.ID}, Name: &name, ResourceGroup: group(), Rules: rules})
	n.Expect(answered(response, err)).To(Equal("201"))
	return made
}

func tcpRule(port int64) *vpcv1.SecurityGroupRulePrototype {
	return &vpcv1.SecurityGroupRulePrototype{
		Direction: ptr.To("inbound"), Protocol: ptr.To("tcp"), PortMin: &port, PortMax: &port,
		Remote: &vpcv1.SecurityGroupRuleRemotePrototype{CIDRBlock: ptr.To("192.168.0.0/16")},
	}
}

func (n networks) addRule(group *string, rule vpcv1.SecurityGroupRulePrototypeIntf) (vpcv1.SecurityGroupRuleIntf, string) {
	made, response, err := n.vpc.CreateSecurityGroupRule(&vpcv1.CreateSecurityGroupRuleOptions{
		SecurityGroupID: group, SecurityGroupRulePrototype: rule})
	return made, answered(response, err)
}

func (n networks) rules(group *string) []vpcv1.SecurityGroupRuleIntf {
	list, _, err := n.vpc.ListSecurityGroupRules(&vpcv1.ListSecurityGroupRulesOptions{SecurityGroupID: group})
	n.Expect(err).NotTo(HaveOccurred())
	return list.Rules
}

func (n networks) deleteGroup(id *string) string {
	return answered(n.vpc.DeleteSecurityGroup(&vpcv1.DeleteSecurityGroupOptions{ID: id}))
}

func TestRules_areShownByTheirProtocol(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc := n.newVPC("net")
		api := *vpc.DefaultSecurityGroup.ID
		made, answer := n.addRule(&api, tcpRule(6443))
		n.Expect(answer).To(Equal("201"))
		tcp := made.(*vpcv1.SecurityGroupRuleSecurityGroupRuleProtocolTcpudp)
		n.Expect([]any{*tcp.PortMin, *tcp.PortMax, *tcp.Direction, *tcp.IPVersion}).To(Equal([]any{int64(6443), int64(6443), "inbound", "ipv4"}))
		n.Expect(*tcp.Remote.(*vpcv1.SecurityGroupRuleRemote).CIDRBlock).To(Equal("192.168.0.0/16"))

		made, answer = n.addRule(&api, &vpcv1.SecurityGroupRulePrototype{
			Direction: ptr.To("inbound"), Protocol: ptr.To("icmp"), Type: ptr.To[int64](8),
			Remote: &vpcv1.SecurityGroupRuleRemotePrototype{Address: ptr.To("192.168.0.1")},
		})
		n.Expect(answer).To(Equal("201"))
		n.Expect(*made.(*vpcv1.SecurityGroupRuleSecurityGroupRuleProtocolIcmp).Type).To(BeEquivalentTo(8))
		made, answer = n.addRule(&api, &vpcv1.SecurityGroupRulePrototype{Direction: ptr.To("outbound"), Protocol: ptr.To("any")})
		n.Expect(answer).To(Equal("201"))
		anyRule := made.(*vpcv1.SecurityGroupRuleProtocolAny)
		n.Expect(*anyRule.Remote.(*vpcv1.SecurityGroupRuleRemote).CIDRBlock).To(Equal("0.0.0.0/0"))
		n.Expect(n.rules(&api)).To(HaveLen(5), "with the two that the default group has")

		again, _, err := n.vpc.GetSecurityGroupRule(&vpcv1.GetSecurityGroupRuleOptions{SecurityGroupID: &api, ID: tcp.ID})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(again).To(Equal(vpcv1.SecurityGroupRuleIntf(tcp)))
		n.Expect(answered(n.vpc.DeleteSecurityGroupRule(&vpcv1.DeleteSecurityGroupRuleOptions{SecurityGroupID: &api, ID: tcp.ID}))).To(Equal("204"))
		n.Expect(n.rules(&api)).To(HaveLen(4))
	})
}

func TestRules_canBeTheSameUpToTheLimit(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		group := n.newGroup(n.newVPC("net"), "api")
		for range 250 {
			_, answer := n.addRule(group.ID, tcpRule(6443))
			n.Expect(answer).To(Equal("201"))
		}
		_, answer := n.addRule(group.ID, tcpRule(6443))
		n.Expect(answer).To(Equal("400 security_group_rules_per_sg_exceeded"))
		n.Expect(n.rules(group.ID)).To(HaveLen(250))
	})
}

func TestSecurityGroup_isDeletedOnceNothingRefersToIt(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc := n.newVPC("net")
		members := n.newGroup(vpc, "members")
		api := n.newGroup(vpc, "api", tcpRule(22), &vpcv1.SecurityGroupRulePrototype{
			Direction: ptr.To("inbound"), Protocol: ptr.To("tcp"),
			Remote: &vpcv1.SecurityGroupRuleRemotePrototypeSecurityGroupIdentity{ID: members.ID},
		})
		n.Expect(api.Rules).To(HaveLen(2))
		remote := api.Rules[1].(*vpcv1.SecurityGroupRuleSecurityGroupRuleProtocolTcpudp).Remote.(*vpcv1.SecurityGroupRuleRemote)
		n.Expect([]string{*remote.ID, *remote.Name}).To(Equal([]string{*members.ID, "members"}))

		list, _, err := n.vpc.ListSecurityGroups(&vpcv1.ListSecurityGroupsOptions{VPCID: vpc.ID})
		n.Expect(err).NotTo(HaveOccurred())
		n.Expect(list.SecurityGroups).To(HaveLen(3))

		n.Expect(n.deleteGroup(vpc.DefaultSecurityGroup.ID)).To(Equal("409 security_group_vpc_default"))
		n.Expect(n.deleteGroup(members.ID)).To(Equal("409 security_group_remoting_rules"))
		n.Expect(n.deleteGroup(api.ID)).To(Equal("204"))
		n.Expect(n.deleteGroup(members.ID)).To(Equal("204"))
		n.Expect(n.deleteGroup(members.ID)).To(Equal("404 not_found"))
		n.Expect(n.cloud.State()[sim.KindSecurityRule]).To(HaveLen(2), "those of the default group")
	})
}

func TestSecurityGroupRequests_thatAreRefused(t *testing.T) {
	inSimulatedNetworks(t, func(n networks) {
		vpc, other := n.newVPC("net"), n.newVPC("other")
		api, stranger := n.newGroup(vpc, "api"), n.newGroup(other, "api")
		inVPC := func(fields string) string { return fmt.Sprintf(`{"vpc": {"id": %q}, %s}`, *vpc.ID, fields) }
		rule := func(fields string) string { return `{"direction": "inbound", ` + fields + `}` }
		rules := "/v1/security_groups/" + *api.ID + "/rules"
		n.expectRefusals(vpcHost, vpcQuery, map[string]refusal{
			"taken name":        {"POST", "/v1/security_groups", inVPC(`"name": "api"`), 400, "validation_unique_failed"},
			"no VPC":            {"POST", "/v1/security_groups", `{"name": "xx"}`, 400, "validation_required_field"},
			"bad rule":          {"POST", "/v1/security_groups", inVPC(`"rules": [{"direction": "up"}]`), 400, "validation_enum"},
			"unknown group":     {"GET", "/v1/security_groups/none/rules", "", 404, "not_found"},
			"unknown rule":      {"GET", rules + "/none", "", 404, "not_found"},
			"no direction":      {"POST", rules, `{"protocol": "tcp"}`, 400, "validation_enum"},
			"protocol of old":   {"POST", rules, rule(`"protocol": "all"`), 400, "validation_enum"},
			"IPv6":              {"POST", rules, rule(`"protocol": "tcp", "ip_version": "ipv6"`), 400, "validation_enum"},
			"one port":          {"POST", rules, rule(`"protocol": "tcp", "port_min": 1`), 400, "security_group_port_range_both_or_neither"},
			"backwards":         {"POST", rules, rule(`"protocol": "tcp", "port_min": 2, "port_max": 1`), 400, "security_group_port_max_less_than_port_min"},
			"no port":           {"POST", rules, rule(`"protocol": "tcp", "port_min": 0, "port_max": 1`), 400, "validation_max_value"},
			"ports of any":      {"POST", rules, rule(`"protocol": "any", "port_min": 1, "port_max": 1`), 400, "security_group_port_range_invalid_protocol"},
			"type of TCP":       {"POST", rules, rule(`"protocol": "tcp", "type": 1`), 400, "security_group_type_code_invalid_protocol"},
			"code without type": {"POST", rules, rule(`"protocol": "icmp", "code": 1`), 400, "validation_required_field"},
			"two remotes":       {"POST", rules, rule(`"protocol": "tcp", "remote": {"address": "1.2.3.4", "cidr_block": "1.2.3.0/24"}`), 400, "validation_only_one"},
			"bad address":       {"POST", rules, rule(`"protocol": "tcp", "remote": {"address": "1.2.3"}`), 400, "validation_invalid_ipv4_address"},
			"bad range":         {"POST", rules, rule(`"protocol": "tcp", "remote": {"cidr_block": "1.2.3.4/24"}`), 400, "validation_invalid_ipv4_cidr"},
			"unknown remote":    {"POST", rules, rule(`"protocol": "tcp", "remote": {"id": "none"}`), 404, "not_found"},
			"another VPC's":     {"POST", rules, rule(`"protocol": "tcp", "remote": {"id": "` + *stranger.ID + `"}`), 400, "security_group_remote_group_not_in_vpc"},
			"local group":       {"POST", rules, rule(`"protocol": "tcp", "local": {"id": "` + *api.ID + `"}`), 400, "validation_only_one"},
		})
		n.Expect(n.rules(api.ID)).To(BeEmpty())
		n.newGroup(vpc, "more")
		n.expectRefusals(vpcHost, vpcQuery, map[string]refusal{
			"quota": {"POST", "/v1/security_groups", inVPC(`"name": "one-more"`), 400, "security_group_limit_exceeded"},
		})
	}, func(c *sim.Config) { c.Quotas.SecurityGroups = 3 })
}
