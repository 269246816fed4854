package sim

import (
	"context"
	"net/http"
	"slices"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// dpuServiceType is the only type of service that the simulator knows.
const dpuServiceType = "KubernetesPod"

// ListDPUExtensionServices implements the API.
func (s *Server) ListDPUExtensionServices(
	_ context.Context, r gen.ListDPUExtensionServicesRequestObject,
) (gen.ListDPUExtensionServicesResponseObject, error) {
	p := r.Params
	page, header := pageOf(s.config.DPUExtensionServices, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, status: p.Status, fullText: p.Query,
	}, s.dpuServiceView, func(v api.DPUExtensionService) row {
		return row{id: v.ID, name: v.Name, siteID: v.SiteID, status: string(v.Status), created: v.Created}
	})
	headers := gen.ListDPUExtensionServices200ResponseHeaders{XPagination: header}
	return gen.ListDPUExtensionServices200JSONResponse{Body: page, Headers: headers}, nil
}

// GetDPUExtensionService implements the API.
func (s *Server) GetDPUExtensionService(
	_ context.Context, r gen.GetDPUExtensionServiceRequestObject,
) (gen.GetDPUExtensionServiceResponseObject, error) {
	service, found := s.dpuService(r.ID)
	if !found {
		return nil, refuse(http.StatusNotFound, "Could not find DPU Extension Service with specified ID")
	}
	return gen.GetDPUExtensionService200JSONResponse(s.dpuServiceView(service)), nil
}

func (s *Server) dpuService(id string) (DPUExtensionService, bool) {
	return byID(s.config.DPUExtensionServices, func(d DPUExtensionService) string { return d.ID }, id)
}

// checkDeployments checks the services that an instance is to have on its DPUs.
func (s *Server) checkDeployments(requests []api.DPUExtensionServiceDeploymentRequest, siteID string) error {
	seen := map[api.DPUExtensionServiceDeploymentRequest]bool{}
	for _, wanted := range requests {
		id := wanted.DPUExtensionServiceID
		service, found := s.dpuService(id)
		switch {
		case !found:
			return bad("Could not find DPU Extension Service with ID: %s specified in request data", id)
		case service.SiteID != siteID:
			return refuse(http.StatusForbidden, "DPU Extension Service: %s does not belong to Site", id)
		case !slices.Contains(service.Versions, wanted.Version):
			return bad("Version: %s of DPU Extension Service: %s specified in request data is not found", wanted.Version, id)
		case seen[wanted]:
			return badField("dpuExtensionServiceDeployments", "version %s of %s is specified twice", wanted.Version, id)
		}
		seen[wanted] = true
	}
	return nil
}

func (s *Server) dpuServiceView(service DPUExtensionService) api.DPUExtensionService {
	return api.DPUExtensionService{
		ID: service.ID, Name: service.Name, SiteID: service.SiteID, TenantID: s.config.Tenant.ID,
		ServiceType: dpuServiceType, ActiveVersions: service.Versions, Version: latest(service),
		Status: api.DPUExtensionServiceStatusReady, Created: s.state.started, Updated: s.state.started,
	}
}

func latest(service DPUExtensionService) string {
	if len(service.Versions) == 0 {
		return ""
	}
	return service.Versions[len(service.Versions)-1]
}

func (s *Server) deploymentViews(i *instance, now time.Time) []api.DPUExtensionServiceDeployment {
	status := "Running"
	if i.partStatus(now) == partPending {
		status = partPending
	}
	views := make([]api.DPUExtensionServiceDeployment, 0, len(i.request.DPUExtensionServiceDeployments))
	for n, wanted := range i.request.DPUExtensionServiceDeployments {
		service, _ := s.dpuService(wanted.DPUExtensionServiceID) // checked when the instance was made
		views = append(views, api.DPUExtensionServiceDeployment{
			ID: i.partID("dpu service", n), Status: status, Version: wanted.Version,
			DPUExtensionService: api.DPUExtensionServiceSummary{
				ID: service.ID, Name: service.Name, ServiceType: dpuServiceType, LatestVersion: latest(service),
				Status: string(api.DPUExtensionServiceStatusReady),
			},
		})
	}
	return views
}
