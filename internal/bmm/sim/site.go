package sim

import (
	"context"
	"net/http"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// GetMetadata implements the API.
func (s *Server) GetMetadata(context.Context, gen.GetMetadataRequestObject) (gen.GetMetadataResponseObject, error) {
	return gen.GetMetadata200JSONResponse{Version: "simulator"}, nil
}

// GetCurrentServiceAccount implements the API. Like GetCurrentTenant, it creates the tenant.
func (s *Server) GetCurrentServiceAccount(
	context.Context, gen.GetCurrentServiceAccountRequestObject,
) (gen.GetCurrentServiceAccountResponseObject, error) {
	s.view(func(time.Time) { s.state.tenantKnown = true })
	return gen.GetCurrentServiceAccount200JSONResponse{Enabled: true, TenantID: s.config.Tenant.ID}, nil
}

// GetCurrentTenant implements the API.
func (s *Server) GetCurrentTenant(
	context.Context, gen.GetCurrentTenantRequestObject,
) (gen.GetCurrentTenantResponseObject, error) {
	s.view(func(time.Time) { s.state.tenantKnown = true })
	return gen.GetCurrentTenant200JSONResponse{
		ID: s.config.Tenant.ID, Org: s.config.Org, OrgDisplayName: s.config.Tenant.Name,
	}, nil
}

// ListSites implements the API.
func (s *Server) ListSites(_ context.Context, r gen.ListSitesRequestObject) (gen.ListSitesResponseObject, error) {
	if err := s.requireTenant(); err != nil {
		return nil, err
	}
	var all []api.Site
	for _, site := range s.config.Sites {
		all = append(all, s.siteView(site))
	}
	p := r.Params
	page, header := selectPage(all, func(v api.Site) row {
		return row{id: v.ID, name: v.Name, status: string(v.Status), created: v.Created}
	}, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		status: p.Status, fullText: p.Query,
	})
	headers := gen.ListSites200ResponseHeaders{XPagination: header}
	return gen.ListSites200JSONResponse{Body: page, Headers: headers}, nil
}

// GetSite implements the API.
func (s *Server) GetSite(_ context.Context, r gen.GetSiteRequestObject) (gen.GetSiteResponseObject, error) {
	if err := s.requireTenant(); err != nil {
		return nil, err
	}
	site, err := s.site(r.ID)
	return gen.GetSite200JSONResponse(s.siteView(site)), err
}

func (s *Server) requireTenant() error {
	return s.change(func(time.Time) error {
		if !s.state.tenantKnown {
			return refuse(http.StatusBadRequest, "Org does not have a Tenant associated")
		}
		return nil
	})
}

func (s *Server) site(id string) (Site, error) {
	for _, site := range s.config.Sites {
		if site.ID == id {
			return site, nil
		}
	}
	return Site{}, refuse(http.StatusNotFound, "Could not find Site with specified ID")
}

func (s *Server) siteView(site Site) api.Site {
	return api.Site{
		ID: site.ID, Name: site.Name, Org: s.config.Org, Status: api.SiteStatusRegistered, IsOnline: true,
		Location:     api.SiteLocation{City: site.Location},
		Capabilities: api.SiteCapabilities{NativeNetworking: site.NativeNetworking},
		Created:      s.state.started, Updated: s.state.started,
	}
}

// allocated reports whether the tenant has been given anything at the site.
func (s *Server) allocated(siteID string) bool {
	for _, block := range s.config.IPBlocks {
		if block.SiteID == siteID && block.TenantID == s.config.Tenant.ID {
			return true
		}
	}
	return false
}

// ListIPBlocks implements the API.
func (s *Server) ListIPBlocks(
	_ context.Context, r gen.ListIPBlocksRequestObject,
) (gen.ListIPBlocksResponseObject, error) {
	var all []api.IPBlock
	for _, block := range s.config.IPBlocks {
		if block.TenantID == s.config.Tenant.ID {
			all = append(all, s.ipBlockView(block))
		}
	}
	p := r.Params
	page, header := selectPage(all, func(v api.IPBlock) row {
		return row{id: v.ID, name: v.Name, status: string(v.Status), siteID: v.SiteID, created: v.Created}
	}, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, status: p.Status, fullText: p.Query,
	})
	headers := gen.ListIPBlocks200ResponseHeaders{XPagination: header}
	return gen.ListIPBlocks200JSONResponse{Body: page, Headers: headers}, nil
}

// GetIPBlock implements the API.
func (s *Server) GetIPBlock(_ context.Context, r gen.GetIPBlockRequestObject) (gen.GetIPBlockResponseObject, error) {
	block, err := s.ipBlock(r.ID)
	if err == nil && block.TenantID != s.config.Tenant.ID {
		err = refuse(http.StatusForbidden, "IP Block does not belong to current Tenant")
	}
	return gen.GetIPBlock200JSONResponse(s.ipBlockView(block)), err
}

func (s *Server) ipBlock(id string) (IPBlock, error) {
	for _, block := range s.config.IPBlocks {
		if block.ID == id {
			return block, nil
		}
	}
	return IPBlock{}, refuse(http.StatusNotFound, "Could not find IP Block with specified ID")
}

func (s *Server) ipBlockView(block IPBlock) api.IPBlock {
	return api.IPBlock{
		ID: block.ID, Name: block.Name, SiteID: block.SiteID, TenantID: block.TenantID,
		RoutingType: api.IPBlockRoutingTypeDatacenterOnly, ProtocolVersion: api.IPBlockProtocolVersionIPv4,
		Prefix: block.Prefix.String(), PrefixLength: block.PrefixLength, Status: api.IPBlockStatusReady,
		Created: s.state.started, Updated: s.state.started,
	}
}
