package sim

import (
	"context"
	"net/http"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// ListSites implements the API.
func (s *Server) ListSites(_ context.Context, r gen.ListSitesRequestObject) (gen.ListSitesResponseObject, error) {
	if err := s.requireTenant(); err != nil {
		return nil, err
	}
	p := r.Params
	page, header := pageOf(s.config.Sites, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy, status: p.Status, fullText: p.Query,
	}, s.siteView, func(v api.Site) row {
		return row{id: v.ID, name: v.Name, status: string(v.Status), created: v.Created}
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
			return bad("Org does not have a Tenant associated")
		}
		return nil
	})
}

func (s *Server) site(id string) (Site, error) {
	site, found := byID(s.config.Sites, func(site Site) string { return site.ID }, id)
	if !found {
		return site, refuse(http.StatusNotFound, "Could not find Site with specified ID")
	}
	return site, nil
}

func (s *Server) siteView(site Site) api.Site {
	view := api.Site{
		ID: site.ID, Name: site.Name, Org: s.config.Org, Status: api.SiteStatusRegistered, IsOnline: true,
		Location: api.SiteLocation{City: site.Location}, SerialConsoleHostname: site.SerialConsole,
		IsSerialConsoleEnabled: site.SerialConsole != "",
		Capabilities: api.SiteCapabilities{
			NativeNetworking: site.NativeNetworking, NetworkSecurityGroup: site.NetworkSecurityGroup,
			NVLinkPartition: site.NVLinkPartition,
		},
		Created: s.state.started, Updated: s.state.started,
	}
	s.view(func(time.Time) {
		if s.siteState(site.ID) == SiteOffline {
			view.Status, view.IsOnline = api.SiteStatusError, false
		}
	})
	return view
}
