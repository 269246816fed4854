package sim

import (
	"context"
	"net/http"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// ListOperatingSystems implements the API. Operating systems belong to the tenant, so they are the same at every site.
func (s *Server) ListOperatingSystems(
	_ context.Context, r gen.ListOperatingSystemsRequestObject,
) (gen.ListOperatingSystemsResponseObject, error) {
	p := r.Params
	page, header := pageOf(s.config.OperatingSystems, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy, status: p.Status, fullText: p.Query,
	}, s.operatingSystemView, func(v api.OperatingSystem) row {
		return row{id: v.ID, name: v.Name, status: string(v.Status), created: v.Created}
	})
	headers := gen.ListOperatingSystems200ResponseHeaders{XPagination: header}
	return gen.ListOperatingSystems200JSONResponse{Body: page, Headers: headers}, nil
}

// GetOperatingSystem implements the API.
func (s *Server) GetOperatingSystem(
	_ context.Context, r gen.GetOperatingSystemRequestObject,
) (gen.GetOperatingSystemResponseObject, error) {
	system, found := s.operatingSystem(r.ID)
	if !found {
		return nil, refuse(http.StatusNotFound, "Could not find Operating System with specified ID")
	}
	return gen.GetOperatingSystem200JSONResponse(s.operatingSystemView(system)), nil
}

func (s *Server) operatingSystem(id string) (OperatingSystem, bool) {
	return byID(s.config.OperatingSystems, func(o OperatingSystem) string { return o.ID }, id)
}

// checkSystem checks what an instance is to boot.
func (s *Server) checkSystem(request api.InstanceCreateRequest) error {
	if request.OperatingSystemID == "" {
		if request.IpxeScript == "" {
			return badField("operatingSystemId", "either `operatingSystemId` or `ipxeScript` must be specified")
		}
		return nil
	}
	system, found := s.operatingSystem(request.OperatingSystemID)
	switch {
	case !found:
		return bad("Could not find OperatingSystem with ID specified in request data")
	case system.Inactive:
		return bad("OperatingSystem specified in request data is deactivated")
	case system.NoOverride && request.UserData != "":
		return badField("userData", "cannot be specified: OperatingSystem does not allow it to be overridden")
	case system.Image && (request.IpxeScript != "" || request.AlwaysBootWithCustomIpxe):
		return badField("ipxeScript", "cannot be specified for Image based OperatingSystem")
	}
	return nil
}

func (s *Server) operatingSystemView(system OperatingSystem) api.OperatingSystem {
	view := api.OperatingSystem{
		ID: system.ID, Name: system.Name, TenantID: s.config.Tenant.ID, Type: api.OperatingSystemTypeIPXE,
		Status: api.OperatingSystemStatusReady, IsActive: !system.Inactive, IsCloudInit: true,
		AllowOverride: !system.NoOverride, Created: s.state.started, Updated: s.state.started,
	}
	if system.Image {
		view.Type = api.OperatingSystemTypeImage
	}
	if system.Inactive {
		view.Status = api.OperatingSystemStatusDeactivated
	}
	return view
}
