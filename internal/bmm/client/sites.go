package client

import (
	"context"
	"fmt"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/fault"
)

// Tenant returns the tenant of the token. The server creates it on first use; before that it refuses calls for sites.
func (c *Client) Tenant(ctx context.Context) (*Tenant, error) {
	tenant := &Tenant{}
	if err := c.do(ctx, request{op: "get tenant", send: plain((*gen.Client).GetCurrentTenant)}, tenant); err != nil {
		return nil, notProven(err)
	}
	return tenant, nil
}

// TenantIs checks whose credentials these are. It comes before all else in an organisation that hasn't been used yet: see
// Tenant.
func (c *Client) TenantIs(ctx context.Context, id string) error {
	tenant, err := c.Tenant(ctx)
	if err != nil {
		return err
	}
	if tenant.ID != id {
		return fault.Invalidf("the credentials in Secret %s are those of tenant %s, and tenantID names %s: correct one of the two",
			c.secret, tenant.ID, id)
	}
	return nil
}

func getSite(id string) request {
	return request{op: "get site", id: id, send: with((*gen.Client).GetSite, id)}
}

// Site returns a site by ID. NotFound is proven by another call: the tenant can be seen and the site can't.
func (c *Client) Site(ctx context.Context, id string) (*Site, error) {
	site := &Site{}
	err := c.do(ctx, getSite(id), site)
	if err == nil {
		return site, nil
	}
	if fault.IsNotFound(err) {
		if _, controlErr := c.Tenant(ctx); controlErr != nil {
			return nil, notProven(err)
		}
	}
	return nil, err
}

// SiteByName returns the only site with exactly this name: NotFound if there is none, Invalid if there are several.
func (c *Client) SiteByName(ctx context.Context, name string) (*Site, error) {
	sites, err := list[Site](ctx, c, "list sites", func(p page) send {
		return with((*gen.Client).ListSites, &gen.ListSitesParams{PageNumber: p.number, PageSize: p.size, OrderBy: p.order})
	})
	if err != nil {
		return nil, err
	}
	var found []Site
	for _, site := range sites {
		if site.Name == name {
			found = append(found, site)
		}
	}
	switch len(found) {
	case 1:
		return &found[0], nil
	case 0:
		return nil, &fault.Error{Class: fault.NotFound, Op: "find site", Err: fmt.Errorf("no site is named %q", name)}
	default:
		return nil, &fault.Error{Class: fault.Invalid, Op: "find site",
			Err: fmt.Errorf("%d sites are named %q: use the site's ID", len(found), name)}
	}
}
