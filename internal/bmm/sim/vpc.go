package sim

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

type vpc struct {
	life
	id      string
	vni     int
	request api.VPCCreateRequest
}

// firstVNI is the first of the network identifiers that the simulator hands out.
const firstVNI = 10000

// ListVpcs implements the API.
func (s *Server) ListVpcs(_ context.Context, r gen.ListVpcsRequestObject) (gen.ListVpcsResponseObject, error) {
	var all []api.VPC
	s.view(func(now time.Time) {
		for _, v := range s.state.vpcs {
			all = append(all, s.vpcView(v, now))
		}
	})
	p := r.Params
	page, header := selectPage(all, func(v api.VPC) row {
		return row{id: v.ID, name: v.Name, status: string(v.Status), siteID: v.SiteID, labels: v.Labels, created: v.Created}
	}, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, status: p.Status, fullText: p.Query,
	})
	headers := gen.ListVpcs200ResponseHeaders{XPagination: header}
	return gen.ListVpcs200JSONResponse{Body: page, Headers: headers}, nil
}

// GetVPC implements the API.
func (s *Server) GetVPC(_ context.Context, r gen.GetVPCRequestObject) (gen.GetVPCResponseObject, error) {
	var view api.VPC
	err := s.change(func(now time.Time) error {
		v, err := s.vpc(r.ID)
		if err == nil {
			view = s.vpcView(v, now)
		}
		return err
	})
	return gen.GetVPC200JSONResponse(view), err
}

// CreateVPC implements the API. Like the real service it checks, waits and inserts without checking again; only the
// ID is a primary key.
func (s *Server) CreateVPC(_ context.Context, r gen.CreateVPCRequestObject) (gen.CreateVPCResponseObject, error) {
	request := *r.Body
	if err := s.change(func(time.Time) error { return s.checkVPC(&request) }); err != nil {
		return nil, err
	}
	if err := s.wait(s.config.Times.Create.Duration); err != nil {
		return nil, err
	}
	var view api.VPC
	err := s.change(func(now time.Time) error {
		v := &vpc{life: newLife(now, s.config.Times.VPC.Duration), id: request.ID, vni: request.VNI, request: request}
		if v.id == "" {
			v.id = uuid.NewString()
		}
		if s.state.usedVPCIDs[v.id] {
			return refuse(http.StatusInternalServerError, "Failed creating VPC record")
		}
		if v.vni == 0 {
			v.vni = firstVNI + len(s.state.usedVPCIDs)
		}
		s.state.usedVPCIDs[v.id] = true
		s.state.vpcs = append(s.state.vpcs, v)
		view = s.vpcView(v, now)
		return nil
	})
	return gen.CreateVPC201JSONResponse(view), err
}

// checkVPC checks a request and fills in the default type.
func (s *Server) checkVPC(request *api.VPCCreateRequest) error {
	site, err := s.site(request.SiteID)
	if err != nil {
		return refuse(http.StatusBadRequest, "Could not find Site with ID specified in request data")
	}
	if !s.allocated(site.ID) {
		return refuse(http.StatusForbidden, "Tenant does not have any Allocations with Site specified in request data")
	}
	if find(s.state.vpcs, func(v *vpc) bool { return v.id == request.ID }) != nil {
		return &apiError{status: http.StatusConflict, message: "A Vpc with specified ID already exists",
			data: map[string]string{"id": request.ID}}
	}
	if other := find(s.state.vpcs, func(v *vpc) bool {
		return v.request.Name == request.Name && v.request.SiteID == request.SiteID
	}); other != nil {
		return nameTaken("A Vpc", other.id)
	}
	if request.NetworkVirtualizationType == "" {
		request.NetworkVirtualizationType = api.NetworkVirtualizationTypeETHERNETVIRTUALIZER
		if site.NativeNetworking {
			request.NetworkVirtualizationType = api.NetworkVirtualizationTypeFNN
		}
	}
	if request.NetworkVirtualizationType == api.NetworkVirtualizationTypeFNN && !site.NativeNetworking {
		return refuse(http.StatusBadRequest,
			"Site specified in request data must have native networking enabled in order to create FNN VPCs")
	}
	return nil
}

// DeleteVPC implements the API.
func (s *Server) DeleteVPC(_ context.Context, r gen.DeleteVPCRequestObject) (gen.DeleteVPCResponseObject, error) {
	err := s.change(func(now time.Time) error {
		v, err := s.vpc(r.ID)
		if err != nil {
			return err
		}
		if find(s.state.subnets, func(n *subnet) bool { return n.request.VPCID == v.id }) != nil {
			return refuse(http.StatusBadRequest, "Cannot delete VPC, one or more Subnets exist for this VPC")
		}
		if find(s.state.instances, func(i *instance) bool { return i.request.VPCID == v.id }) != nil {
			return refuse(http.StatusBadRequest, "Cannot delete VPC, one or more instances for this VPC")
		}
		v.delete(now, s.config.Times.VPCDelete.Duration)
		return nil
	})
	return gen.DeleteVPC202Response{}, err
}

func (s *Server) vpc(id string) (*vpc, error) {
	if v := find(s.state.vpcs, func(v *vpc) bool { return v.id == id }); v != nil {
		return v, nil
	}
	return nil, refuse(http.StatusNotFound, "Could not find VPC with specified ID")
}

func (s *Server) vpcView(v *vpc, now time.Time) api.VPC {
	return api.VPC{
		ID: v.id, Name: v.request.Name, Description: v.request.Description, Labels: v.request.Labels,
		Org: s.config.Org, TenantID: s.config.Tenant.ID, SiteID: v.request.SiteID,
		NetworkVirtualizationType: v.request.NetworkVirtualizationType, VNI: v.vni,
		Status: api.VPCStatus(v.status(now)), Created: v.created, Updated: v.updated(now),
	}
}
