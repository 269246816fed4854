package client

import "context"

// ResourceGroup is a group of an account.
type ResourceGroup struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ResourceGroups returns the account's groups of a name, which are one at most, or all if that is empty.
func (c *Client) ResourceGroups(ctx context.Context, name string) ([]ResourceGroup, error) {
	return nil, errSurface
}

// ResourceGroup returns a group.
func (c *Client) ResourceGroup(ctx context.Context, id string) (*ResourceGroup, error) {
	return nil, errSurface
}
