package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/fault"
)

// Tenant returns the tenant of the token. The server creates it on first use.
func (c *Client) Tenant(ctx context.Context) (*Tenant, error) {
	return create[Tenant](ctx, c, "get tenant", func(ctx context.Context) (*http.Response, error) {
		return c.api.GetCurrentTenant(ctx)
	})
}

// Site returns a site by ID. NotFound is proven by another call: the tenant can be seen and the site can't.
func (c *Client) Site(ctx context.Context, id string) (*Site, error) {
	site := &Site{}
	_, err := c.do(ctx, "get site", func(ctx context.Context) (*http.Response, error) {
		return c.api.GetSite(ctx, id)
	}, site)
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
	sites, err := list[Site](ctx, c, "list sites", func(ctx context.Context, p page) (*http.Response, error) {
		return c.api.ListSites(ctx, &gen.ListSitesParams{PageNumber: p.number, PageSize: p.size, OrderBy: p.order})
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

// InstanceType returns an instance type of the site.
func (c *Client) InstanceType(ctx context.Context, siteID, id string) (*InstanceType, error) {
	return get[InstanceType](ctx, c, "get instance type", siteID, func(ctx context.Context) (*http.Response, error) {
		return c.api.GetInstanceType(ctx, id)
	})
}
