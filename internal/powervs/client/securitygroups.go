package client

import "context"

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
	return nil, errSurface
}

// SecurityGroup returns a group with its rules.
func (c *Client) SecurityGroup(ctx context.Context, region, id string) (*SecurityGroup, error) {
	return nil, errSurface
}

// CreateSecurityGroup makes a group with its rules. Conflict means that another one of the VPC has the name.
func (c *Client) CreateSecurityGroup(
	ctx context.Context, region, vpcID, name, resourceGroupID string, rules []SecurityGroupRule,
) (*SecurityGroup, error) {
	return nil, errSurface
}

// DeleteSecurityGroup deletes a group at once. Busy means that something is attached to it, or that a rule of another one refers to it.
func (c *Client) DeleteSecurityGroup(ctx context.Context, region, id string) error { return errSurface }

// SecurityGroupRules returns the rules of a group.
func (c *Client) SecurityGroupRules(ctx context.Context, region, groupID string) ([]SecurityGroupRule, error) {
	return nil, errSurface
}

// SecurityGroupRule returns a rule of a group. It is gone with the group.
func (c *Client) SecurityGroupRule(ctx context.Context, region, groupID, id string) (*SecurityGroupRule, error) {
	return nil, errSurface
}

// CreateSecurityGroupRule adds a rule to a group. Quota means that this may not have more.
func (c *Client) CreateSecurityGroupRule(
	ctx context.Context, region, groupID string, rule SecurityGroupRule,
) (*SecurityGroupRule, error) {
	return nil, errSurface
}

// DeleteSecurityGroupRule removes a rule of a group at once.
func (c *Client) DeleteSecurityGroupRule(ctx context.Context, region, groupID, id string) error {
	return errSurface
}
