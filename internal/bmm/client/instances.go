package client

import (
	"context"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// CreateInstance creates an instance. Quota means that no machine is free, or that the tenant may not have more.
func (c *Client) CreateInstance(ctx context.Context, request InstanceCreateRequest) (*Instance, error) {
	return create[Instance](ctx, c, "create instance", "", with((*gen.Client).CreateInstance, request))
}

// Instance returns an instance of the site.
func (c *Client) Instance(ctx context.Context, siteID, id string) (*Instance, error) {
	return get[Instance](ctx, c, "get instance", siteID, id, (*gen.Client).GetInstance)
}

// InstanceFilter selects instances. Empty fields select all.
type InstanceFilter struct {
	SiteID, VPCID string
	// Name is the exact name, and Query a full text search over names and labels.
	Name, Query string
}

// maxInstances bounds what a list of the instances of a whole site takes in memory, in bytes.
const maxInstances = 40 << 20

// Instances returns the instances of the tenant that the filter selects, without what they boot and their history.
func (c *Client) Instances(ctx context.Context, filter InstanceFilter) ([]Instance, error) {
	most := maxListed
	if filter == (InstanceFilter{SiteID: filter.SiteID}) {
		most = maxInstances
	}
	all, err := listUpTo[listed](ctx, c, most, "list instances", func(p page) send {
		return with((*gen.Client).ListInstances, &gen.ListInstancesParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order,
			SiteID: optional(filter.SiteID), VPCID: optional(filter.VPCID), Name: optional(filter.Name), Query: optional(filter.Query)})
	})
	if err != nil {
		return nil, err
	}
	instances := make([]Instance, len(all))
	for i := range all {
		instances[i] = all[i].Instance
	}
	return instances, nil
}

// listed is an instance of a list. Some fields aren't even decoded: of ten thousand instances they would be hundreds of
// megabytes, in each interval.
type listed struct {
	Instance
	UserData      ignored `json:"userData"`
	IpxeScript    ignored `json:"ipxeScript"`
	StatusHistory ignored `json:"statusHistory"`
}

type ignored struct{}

// UnmarshalJSON takes anything.
func (*ignored) UnmarshalJSON([]byte) error { return nil }

// UpdateInstance changes the fields of an instance of the site that the request has. An empty networkSecurityGroupId
// detaches the group.
func (c *Client) UpdateInstance(ctx context.Context, siteID, id string, request InstanceUpdateRequest) (*Instance, error) {
	return update[Instance](ctx, c, "update instance", siteID, id, with2((*gen.Client).UpdateInstance, id, request))
}

// DeleteInstance starts the termination of an instance of the site. It is over when Instance answers NotFound;
// until then the instance owns its name.
func (c *Client) DeleteInstance(ctx context.Context, siteID, id string) error {
	return c.deleteInstance(ctx, siteID, id, InstanceDeleteRequest{})
}

// DeleteUnhealthyInstance is DeleteInstance with a report to the site's operator of what is wrong with the machine, so
// that it isn't given to the next one.
func (c *Client) DeleteUnhealthyInstance(ctx context.Context, siteID, id string, issue MachineHealthIssue) error {
	return c.deleteInstance(ctx, siteID, id, InstanceDeleteRequest{MachineHealthIssue: &issue})
}

func (c *Client) deleteInstance(ctx context.Context, siteID, id string, request InstanceDeleteRequest) error {
	return c.remove(ctx, "delete instance", siteID, with2((*gen.Client).DeleteInstance, id, request))
}
