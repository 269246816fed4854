package client

import (
	"context"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// CreateSubnet cuts a subnet out of an IP block; the server chooses the range. Quota means that the block is full.
func (c *Client) CreateSubnet(ctx context.Context, request SubnetCreateRequest) (*Subnet, error) {
	return create[Subnet](ctx, c, "create subnet", "", with((*gen.Client).CreateSubnet, request))
}

// Subnet returns a subnet of the site.
func (c *Client) Subnet(ctx context.Context, siteID, id string) (*Subnet, error) {
	return get[Subnet](ctx, c, "get subnet", siteID, id, (*gen.Client).GetSubnet)
}

// SubnetFilter selects subnets. Empty fields select all.
type SubnetFilter struct {
	SiteID, VPCID string
	// Query is a full text search over names; subnets have no labels.
	Query string
}

// Subnets returns the subnets of the tenant that the filter selects.
func (c *Client) Subnets(ctx context.Context, filter SubnetFilter) ([]Subnet, error) {
	return list[Subnet](ctx, c, "list subnets", func(p page) send {
		return with((*gen.Client).ListSubnets, &gen.ListSubnetsParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order,
			SiteID: optional(filter.SiteID), VPCID: optional(filter.VPCID), Query: optional(filter.Query)})
	})
}

// UpdateSubnet renames a subnet of the site. Conflict means that another one has the name.
func (c *Client) UpdateSubnet(ctx context.Context, siteID, id string, request SubnetUpdateRequest) (*Subnet, error) {
	return update[Subnet](ctx, c, "update subnet", siteID, id, with2((*gen.Client).UpdateSubnet, id, request))
}

// DeleteSubnet starts the deletion of a subnet of the site. It is over when Subnet answers NotFound. Busy means that
// instances use it.
func (c *Client) DeleteSubnet(ctx context.Context, siteID, id string) error {
	return c.remove(ctx, "delete subnet", siteID, with((*gen.Client).DeleteSubnet, id))
}

// CreateVPCPrefix cuts a prefix for an FNN VPC out of an IP block; the server chooses the range. Quota means that the
// block is full.
func (c *Client) CreateVPCPrefix(ctx context.Context, request VPCPrefixCreateRequest) (*VPCPrefix, error) {
	return create[VPCPrefix](ctx, c, "create VPC prefix", "", with((*gen.Client).CreateVPCPrefix, request))
}

// VPCPrefix returns a VPC prefix of the site.
func (c *Client) VPCPrefix(ctx context.Context, siteID, id string) (*VPCPrefix, error) {
	return get[VPCPrefix](ctx, c, "get VPC prefix", siteID, id, (*gen.Client).GetVPCPrefix)
}

// VPCPrefixFilter selects VPC prefixes. Empty fields select all.
type VPCPrefixFilter struct {
	SiteID, VPCID string
	// Query is a full text search over names; prefixes have no labels.
	Query string
}

// VPCPrefixes returns the VPC prefixes of the tenant that the filter selects.
func (c *Client) VPCPrefixes(ctx context.Context, filter VPCPrefixFilter) ([]VPCPrefix, error) {
	return list[VPCPrefix](ctx, c, "list VPC prefixes", func(p page) send {
		return with((*gen.Client).ListVPCPrefixes, &gen.ListVPCPrefixesParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order,
			SiteID: optional(filter.SiteID), VPCID: optional(filter.VPCID), Query: optional(filter.Query)})
	})
}

// UpdateVPCPrefix renames a VPC prefix of the site. Conflict means that another one has the name.
func (c *Client) UpdateVPCPrefix(ctx context.Context, siteID, id string, request VPCPrefixUpdateRequest) (*VPCPrefix, error) {
	return update[VPCPrefix](ctx, c, "update VPC prefix", siteID, id, with2((*gen.Client).UpdateVPCPrefix, id, request))
}

// DeleteVPCPrefix starts the deletion of a VPC prefix of the site. It is over when VPCPrefix answers NotFound. Busy means
// that instances use it.
func (c *Client) DeleteVPCPrefix(ctx context.Context, siteID, id string) error {
	return c.remove(ctx, "delete VPC prefix", siteID, with((*gen.Client).DeleteVPCPrefix, id))
}
