package client

import (
	"context"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// InstanceType returns an instance type of the site, with what its machines are capable of.
func (c *Client) InstanceType(ctx context.Context, siteID, id string) (*InstanceType, error) {
	return get[InstanceType](ctx, c, "get instance type", siteID, with((*gen.Client).GetInstanceType, id))
}

// InstanceTypes returns the instance types of the site.
func (c *Client) InstanceTypes(ctx context.Context, siteID string) ([]InstanceType, error) {
	return list[InstanceType](ctx, c, "list instance types", func(p page) send {
		return with((*gen.Client).ListInstanceTypes, &gen.ListInstanceTypesParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order, SiteID: optional(siteID)})
	})
}

// Machine returns a machine of the site, with its health.
func (c *Client) Machine(ctx context.Context, siteID, id string) (*Machine, error) {
	return get[Machine](ctx, c, "get machine", siteID, with((*gen.Client).GetMachine, id))
}

// Machines returns the machines of the site that the provider, or a tenant who may choose machines, can see.
func (c *Client) Machines(ctx context.Context, siteID string) ([]Machine, error) {
	return list[Machine](ctx, c, "list machines", func(p page) send {
		return with((*gen.Client).ListMachines, &gen.ListMachinesParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order, SiteID: optional(siteID)})
	})
}
