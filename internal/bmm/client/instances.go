package client

import (
	"context"
	"net/http"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// CreateInstance creates an instance. Quota means that no machine is free, or that the tenant may not have more.
func (c *Client) CreateInstance(ctx context.Context, request InstanceCreateRequest) (*Instance, error) {
	return create[Instance](ctx, c, "create instance", func(ctx context.Context) (*http.Response, error) {
		return c.api.CreateInstance(ctx, request)
	})
}

// Instance returns an instance of the site.
func (c *Client) Instance(ctx context.Context, siteID, id string) (*Instance, error) {
	return get[Instance](ctx, c, "get instance", siteID, func(ctx context.Context) (*http.Response, error) {
		return c.api.GetInstance(ctx, id)
	})
}

// InstanceFilter selects instances. Empty fields select all.
type InstanceFilter struct {
	SiteID, VPCID string
	// Name is the exact name.
	Name string
	// Query is a full text search over names and labels.
	Query string
}

// Instances returns the instances of the tenant that the filter selects.
func (c *Client) Instances(ctx context.Context, filter InstanceFilter) ([]Instance, error) {
	return list[Instance](ctx, c, "list instances", func(ctx context.Context, p page) (*http.Response, error) {
		return c.api.ListInstances(ctx, &gen.ListInstancesParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order,
			SiteID: optional(filter.SiteID), VPCID: optional(filter.VPCID),
			Name: optional(filter.Name), Query: optional(filter.Query)})
	})
}

// DeleteInstance starts the termination of an instance of the site. It is over when Instance answers NotFound;
// until then the instance owns its name.
func (c *Client) DeleteInstance(ctx context.Context, siteID, id string) error {
	return c.remove(ctx, "delete instance", siteID, func(ctx context.Context) (*http.Response, error) {
		return c.api.DeleteInstance(ctx, id)
	})
}
