package client

import "context"

// MoveLoadBalancer puts a load balancer into other subnets, by PATCH with the ETag (If-Match) of the load balancer as it is read before.
// Busy means that a change is in progress, or that there was another change in between.
func (c *Client) MoveLoadBalancer(ctx context.Context, region, id string, subnetIDs []string) error {
	return errSurface
}
