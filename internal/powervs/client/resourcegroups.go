package client

import (
	"context"
	"slices"

	"github.com/IBM/platform-services-go-sdk/resourcemanagerv2"
)

// ResourceGroup is a group of an account.
type ResourceGroup struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ResourceGroups returns the account's groups of a name, which are one at most, or all if that is empty.
func (c *Client) ResourceGroups(ctx context.Context, name string) ([]ResourceGroup, error) {
	r := call{place: place{service: ServiceResourceManager}, op: "list resource groups"}
	all, err := list[ResourceGroup](ctx, c, r, "resources", func(ctx context.Context, to *api, _ *string) error {
		return drained2(to.manager.ListResourceGroupsWithContext(ctx, &resourcemanagerv2.ListResourceGroupsOptions{Name: optional(name)}))
	})
	return slices.DeleteFunc(all, func(g ResourceGroup) bool { return name != "" && g.Name != name }), err
}

// ResourceGroup returns a group.
func (c *Client) ResourceGroup(ctx context.Context, id string) (*ResourceGroup, error) {
	return get[ResourceGroup](ctx, c, call{
		place: place{service: ServiceResourceManager}, op: "get resource group", ids: []string{id},
		send: func(ctx context.Context, to *api) error {
			return drained2(to.manager.GetResourceGroupWithContext(ctx, &resourcemanagerv2.GetResourceGroupOptions{ID: &id}))
		},
		control: func(ctx context.Context) error {
			_, err := c.ResourceGroups(ctx, "")
			return err
		},
	}, id)
}
