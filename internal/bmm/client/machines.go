package client

import (
	"context"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// InstanceType returns an instance type of the site, with what its machines are capable of.
func (c *Client) InstanceType(ctx context.Context, siteID, id string) (*InstanceType, error) {
	return get[InstanceType](ctx, c, "get instance type", siteID, id, (*gen.Client).GetInstanceType)
}

// Machine returns a machine of the site, with its health.
func (c *Client) Machine(ctx context.Context, siteID, id string) (*Machine, error) {
	return get[Machine](ctx, c, "get machine", siteID, id, (*gen.Client).GetMachine)
}
