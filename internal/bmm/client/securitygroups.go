package client

import (
	"context"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// CreateNetworkSecurityGroup creates a group. It has no effect until a VPC or an instance names it.
func (c *Client) CreateNetworkSecurityGroup(
	ctx context.Context, request NetworkSecurityGroupCreateRequest,
) (*NetworkSecurityGroup, error) {
	return create[NetworkSecurityGroup](ctx, c, "create network security group", request.SiteID,
		with((*gen.Client).CreateNetworkSecurityGroup, request))
}

// NetworkSecurityGroup returns a group of the site.
func (c *Client) NetworkSecurityGroup(ctx context.Context, siteID, id string) (*NetworkSecurityGroup, error) {
	return get[NetworkSecurityGroup](ctx, c, "get network security group", siteID, id, (*gen.Client).GetNetworkSecurityGroup)
}

// NetworkSecurityGroupFilter selects groups. Empty fields select all.
type NetworkSecurityGroupFilter struct {
	SiteID string
	// Query is a full text search over names and labels.
	Query string
}

// NetworkSecurityGroups returns the groups of the tenant that the filter selects.
func (c *Client) NetworkSecurityGroups(
	ctx context.Context, filter NetworkSecurityGroupFilter,
) ([]NetworkSecurityGroup, error) {
	return list[NetworkSecurityGroup](ctx, c, "list network security groups", func(p page) send {
		return with((*gen.Client).ListNetworkSecurityGroups, &gen.ListNetworkSecurityGroupsParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order,
			SiteID: optional(filter.SiteID), Query: optional(filter.Query)})
	})
}

// UpdateNetworkSecurityGroup changes the fields of a group of the site that the request has. Rules are replaced as a
// whole.
func (c *Client) UpdateNetworkSecurityGroup(
	ctx context.Context, siteID, id string, request NetworkSecurityGroupUpdateRequest,
) (*NetworkSecurityGroup, error) {
	return update[NetworkSecurityGroup](ctx, c, "update network security group", siteID, id,
		with2((*gen.Client).UpdateNetworkSecurityGroup, id, request))
}

// DeleteNetworkSecurityGroup starts the deletion of a group of the site. It is over when NetworkSecurityGroup answers
// NotFound. Busy means that a VPC or an instance names it.
func (c *Client) DeleteNetworkSecurityGroup(ctx context.Context, siteID, id string) error {
	return c.remove(ctx, "delete network security group", siteID, with((*gen.Client).DeleteNetworkSecurityGroup, id))
}
