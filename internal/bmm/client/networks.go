package client

import (
	"context"
	"net/http"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// IPBlocks returns the IP blocks that the tenant has at the site.
func (c *Client) IPBlocks(ctx context.Context, siteID string) ([]IPBlock, error) {
	return list[IPBlock](ctx, c, "list IP blocks", func(ctx context.Context, p page) (*http.Response, error) {
		return c.api.ListIPBlocks(ctx, &gen.ListIPBlocksParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order, SiteID: optional(siteID)})
	})
}

// IPBlock returns an IP block of the site.
func (c *Client) IPBlock(ctx context.Context, siteID, id string) (*IPBlock, error) {
	return get[IPBlock](ctx, c, "get IP block", siteID, func(ctx context.Context) (*http.Response, error) {
		return c.api.GetIPBlock(ctx, id)
	})
}

// CreateVPC creates a VPC. The caller may choose its ID, once: an ID that was ever used is a Conflict or Transient.
func (c *Client) CreateVPC(ctx context.Context, request VPCCreateRequest) (*VPC, error) {
	return create[VPC](ctx, c, "create VPC", func(ctx context.Context) (*http.Response, error) {
		return c.api.CreateVPC(ctx, request)
	})
}

// VPC returns a VPC of the site.
func (c *Client) VPC(ctx context.Context, siteID, id string) (*VPC, error) {
	return get[VPC](ctx, c, "get VPC", siteID, func(ctx context.Context) (*http.Response, error) {
		return c.api.GetVPC(ctx, id)
	})
}

// VPCFilter selects VPCs. Empty fields select all.
type VPCFilter struct {
	SiteID string
	// Query is a full text search over names and labels.
	Query string
}

// VPCs returns the VPCs of the tenant that the filter selects.
func (c *Client) VPCs(ctx context.Context, filter VPCFilter) ([]VPC, error) {
	return list[VPC](ctx, c, "list VPCs", func(ctx context.Context, p page) (*http.Response, error) {
		return c.api.ListVpcs(ctx, &gen.ListVpcsParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order,
			SiteID: optional(filter.SiteID), Query: optional(filter.Query)})
	})
}

// DeleteVPC starts the deletion of a VPC of the site. It is over when VPC answers NotFound. Busy means that
// subnets or instances are left.
func (c *Client) DeleteVPC(ctx context.Context, siteID, id string) error {
	return c.remove(ctx, "delete VPC", siteID, func(ctx context.Context) (*http.Response, error) {
		return c.api.DeleteVPC(ctx, id)
	})
}

// CreateSubnet cuts a subnet out of an IP block; the server chooses the range. Quota means that the block is full.
func (c *Client) CreateSubnet(ctx context.Context, request SubnetCreateRequest) (*Subnet, error) {
	return create[Subnet](ctx, c, "create subnet", func(ctx context.Context) (*http.Response, error) {
		return c.api.CreateSubnet(ctx, request)
	})
}

// Subnet returns a subnet of the site.
func (c *Client) Subnet(ctx context.Context, siteID, id string) (*Subnet, error) {
	return get[Subnet](ctx, c, "get subnet", siteID, func(ctx context.Context) (*http.Response, error) {
		return c.api.GetSubnet(ctx, id)
	})
}

// SubnetFilter selects subnets. Empty fields select all.
type SubnetFilter struct {
	SiteID, VPCID string
	// Query is a full text search over names; subnets have no labels.
	Query string
}

// Subnets returns the subnets of the tenant that the filter selects.
func (c *Client) Subnets(ctx context.Context, filter SubnetFilter) ([]Subnet, error) {
	return list[Subnet](ctx, c, "list subnets", func(ctx context.Context, p page) (*http.Response, error) {
		return c.api.ListSubnets(ctx, &gen.ListSubnetsParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order,
			SiteID: optional(filter.SiteID), VPCID: optional(filter.VPCID), Query: optional(filter.Query)})
	})
}

// DeleteSubnet starts the deletion of a subnet of the site. It is over when Subnet answers NotFound. Busy means that
// instances use it.
func (c *Client) DeleteSubnet(ctx context.Context, siteID, id string) error {
	return c.remove(ctx, "delete subnet", siteID, func(ctx context.Context) (*http.Response, error) {
		return c.api.DeleteSubnet(ctx, id)
	})
}
