package client

import (
	"context"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// CreateIPBlock creates an IP block of the provider's. It needs the role of a provider, like DeleteIPBlock.
func (c *Client) CreateIPBlock(ctx context.Context, request IPBlockCreateRequest) (*IPBlock, error) {
	return create[IPBlock](ctx, c, "create IP block", request.SiteID, with((*gen.Client).CreateIPBlock, request))
}

// IPBlock returns an IP block of the site.
func (c *Client) IPBlock(ctx context.Context, siteID, id string) (*IPBlock, error) {
	return get[IPBlock](ctx, c, "get IP block", siteID, id, (*gen.Client).GetIPBlock)
}

// IPBlocks returns the IP blocks that the tenant or the provider has at the site.
func (c *Client) IPBlocks(ctx context.Context, siteID string) ([]IPBlock, error) {
	return list[IPBlock](ctx, c, "list IP blocks", func(p page) send {
		return with((*gen.Client).ListIPBlocks, &gen.ListIPBlocksParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order, SiteID: optional(siteID)})
	})
}

// DeleteIPBlock deletes an IP block of the provider's. Busy means that allocations of it are left. The block that a tenant
// got by an allocation is only deleted with the allocation: for that one the answer is Invalid.
func (c *Client) DeleteIPBlock(ctx context.Context, siteID, id string) error {
	return c.remove(ctx, "delete IP block", siteID, with((*gen.Client).DeleteIPBlock, id))
}

// CreateAllocation gives a tenant a part of an IP block, or machines of an instance type. The service takes exactly one
// constraint. The tenant's own IP block is the constraint's DerivedResourceID. It needs the role of a provider, like
// DeleteAllocation.
func (c *Client) CreateAllocation(ctx context.Context, request AllocationCreateRequest) (*Allocation, error) {
	return create[Allocation](ctx, c, "create allocation", request.SiteID, with((*gen.Client).CreateAllocation, request))
}

// Allocation returns an allocation at the site.
func (c *Client) Allocation(ctx context.Context, siteID, id string) (*Allocation, error) {
	return get[Allocation](ctx, c, "get allocation", siteID, id, (*gen.Client).GetAllocation)
}

// AllocationFilter selects allocations. Empty fields select all.
type AllocationFilter struct {
	SiteID string
	// Query is a full text search over names; allocations have no labels.
	Query string
}

// Allocations returns the allocations, to the tenant or by the provider, that the filter selects.
func (c *Client) Allocations(ctx context.Context, filter AllocationFilter) ([]Allocation, error) {
	return list[Allocation](ctx, c, "list allocations", func(p page) send {
		return with((*gen.Client).ListAllocations, &gen.ListAllocationsParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order,
			SiteID: optional(filter.SiteID), Query: optional(filter.Query)})
	})
}

// DeleteAllocation deletes an allocation at the site. Busy means that the tenant still uses it.
func (c *Client) DeleteAllocation(ctx context.Context, siteID, id string) error {
	return c.remove(ctx, "delete allocation", siteID, with((*gen.Client).DeleteAllocation, id))
}
