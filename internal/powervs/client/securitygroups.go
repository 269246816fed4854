package client

import (
	"context"
	"slices"

	"github.com/IBM/vpc-go-sdk/vpcv1"
	"k8s.io/utils/ptr"
)

// SecurityGroup is a set of rules for what is attached to it.
type SecurityGroup struct {
	ID    string              `json:"id"`
	Name  string              `json:"name"`
	VPC   Reference           `json:"vpc"`
	Rules []SecurityGroupRule `json:"rules"`
}

// SecurityGroupRule allows some traffic. The service lets a group have several that are the same.
type SecurityGroupRule struct {
	// ID and Name are empty in a request.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Direction is inbound or outbound.
	Direction string `json:"direction"`
	// Protocol is any, icmp_tcp_udp, tcp, udp, icmp or another one.
	Protocol string `json:"protocol"`
	// PortMin and PortMax are of tcp and udp; nil for all ports.
	PortMin *int64 `json:"port_min,omitempty"`
	PortMax *int64 `json:"port_max,omitempty"`
	// ICMPType and ICMPCode are of icmp; nil for all.
	ICMPType *int64 `json:"type,omitempty"`
	ICMPCode *int64 `json:"code,omitempty"`
	// Remote is the other side; the zero value of a request is any.
	Remote RuleRemote `json:"remote,omitzero"`
}

// RuleRemote is the other side of a rule: an address, a range, or a security group by its ID. One field is set.
type RuleRemote struct {
	Address         string `json:"address,omitempty"`
	CIDR            string `json:"cidr_block,omitempty"`
	SecurityGroupID string `json:"id,omitempty"`
}

// SecurityGroups returns the groups of a VPC: names are unique there only.
func (c *Client) SecurityGroups(ctx context.Context, region, vpcID string) ([]SecurityGroup, error) {
	r := call{place: place{ServiceVPC, region}, op: "list security groups", ids: []string{vpcID}}
	all, err := list[SecurityGroup](ctx, c, r, "security_groups", func(ctx context.Context, to *api, start *string) error {
		return drained2(to.vpc.ListSecurityGroupsWithContext(ctx, &vpcv1.ListSecurityGroupsOptions{
			VPCID: &vpcID, Limit: ptr.To[int64](pageSize), Start: start,
		}))
	})
	return slices.DeleteFunc(all, func(g SecurityGroup) bool { return g.VPC.ID != vpcID }), err
}

// SecurityGroup returns a group with its rules.
func (c *Client) SecurityGroup(ctx context.Context, region, id string) (*SecurityGroup, error) {
	return get[SecurityGroup](ctx, c, call{
		place: place{ServiceVPC, region}, op: "get security group", ids: []string{id}, control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.GetSecurityGroupWithContext(ctx, &vpcv1.GetSecurityGroupOptions{ID: &id}))
		},
	}, id)
}

// CreateSecurityGroup makes a group with its rules. Conflict means that another one of the VPC has the name.
func (c *Client) CreateSecurityGroup(
	ctx context.Context, region, vpcID, name, resourceGroupID string, rules []SecurityGroupRule,
) (*SecurityGroup, error) {
	var prototypes []vpcv1.SecurityGroupRulePrototypeIntf
	for _, rule := range rules {
		prototypes = append(prototypes, rule.prototype())
	}
	return create[SecurityGroup](ctx, c, call{
		place: place{ServiceVPC, region}, op: "create security group", control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.CreateSecurityGroupWithContext(ctx, &vpcv1.CreateSecurityGroupOptions{
				VPC: &vpcv1.VPCIdentity{ID: &vpcID}, Name: &name, ResourceGroup: inGroup(resourceGroupID), Rules: prototypes,
			}))
		},
	})
}

// DeleteSecurityGroup deletes a group at once. Busy means that something is attached to it, or that a rule of another one refers to it.
func (c *Client) DeleteSecurityGroup(ctx context.Context, region, id string) error {
	return c.ask(ctx, call{
		place: place{ServiceVPC, region}, op: "delete security group", ids: []string{id}, control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return statusOf(to.vpc.DeleteSecurityGroupWithContext(ctx, &vpcv1.DeleteSecurityGroupOptions{ID: &id}))
		},
	})
}

// SecurityGroupRules returns the rules of a group.
func (c *Client) SecurityGroupRules(ctx context.Context, region, groupID string) ([]SecurityGroupRule, error) {
	r := call{
		place: place{ServiceVPC, region}, op: "list security group rules", ids: []string{groupID},
		control: ifGone(c.group(region, groupID)),
	}
	return list[SecurityGroupRule](ctx, c, r, "rules", func(ctx context.Context, to *api, _ *string) error {
		return drained2(to.vpc.ListSecurityGroupRulesWithContext(ctx, &vpcv1.ListSecurityGroupRulesOptions{SecurityGroupID: &groupID}))
	})
}

// SecurityGroupRule returns a rule of a group. It is gone with the group.
func (c *Client) SecurityGroupRule(ctx context.Context, region, groupID, id string) (*SecurityGroupRule, error) {
	return get[SecurityGroupRule](ctx, c, call{
		place: place{ServiceVPC, region}, op: "get security group rule", ids: []string{groupID, id},
		control: within(c.group(region, groupID), nil),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.GetSecurityGroupRuleWithContext(ctx, &vpcv1.GetSecurityGroupRuleOptions{SecurityGroupID: &groupID, ID: &id}))
		},
	}, id)
}

// CreateSecurityGroupRule adds a rule to a group. Quota means that this may not have more.
func (c *Client) CreateSecurityGroupRule(
	ctx context.Context, region, groupID string, rule SecurityGroupRule,
) (*SecurityGroupRule, error) {
	return create[SecurityGroupRule](ctx, c, call{
		place: place{ServiceVPC, region}, op: "create security group rule", ids: []string{groupID}, control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.CreateSecurityGroupRuleWithContext(ctx, &vpcv1.CreateSecurityGroupRuleOptions{
				SecurityGroupID: &groupID, SecurityGroupRulePrototype: rule.prototype(),
			}))
		},
	})
}

// DeleteSecurityGroupRule removes a rule of a group at once.
func (c *Client) DeleteSecurityGroupRule(ctx context.Context, region, groupID, id string) error {
	return c.ask(ctx, call{
		place: place{ServiceVPC, region}, op: "delete security group rule", ids: []string{groupID, id},
		control: within(c.group(region, groupID), nil),
		send: func(ctx context.Context, to *api) error {
			return statusOf(to.vpc.DeleteSecurityGroupRuleWithContext(ctx, &vpcv1.DeleteSecurityGroupRuleOptions{
				SecurityGroupID: &groupID, ID: &id,
			}))
		},
	})
}

// prototype of a rule to make.
func (r SecurityGroupRule) prototype() vpcv1.SecurityGroupRulePrototypeIntf {
	p := &vpcv1.SecurityGroupRulePrototype{
		Direction: &r.Direction, Protocol: &r.Protocol, Name: optional(r.Name), PortMin: r.PortMin, PortMax: r.PortMax, Type: r.ICMPType,
		Code: r.ICMPCode,
	}
	if r.Remote != (RuleRemote{}) {
		p.Remote = &vpcv1.SecurityGroupRuleRemotePrototype{
			Address: optional(r.Remote.Address), CIDRBlock: optional(r.Remote.CIDR), ID: optional(r.Remote.SecurityGroupID),
		}
	}
	return p
}

// group asks whether there is a security group.
func (c *Client) group(region, id string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.SecurityGroup(ctx, region, id)
		return err
	}
}
