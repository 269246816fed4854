package sim

import (
	"context"
	"net/http"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// peering joins two VPCs. Its tenant is that of the first one.
type peering struct {
	object
	vpcs    [2]string
	tenants [2]string
	// dropped is when the service hears that it is gone with one of its VPCs; zero while they are there.
	dropped time.Time
}

func (p *peering) Gone(now time.Time) bool {
	return p.object.Gone(now) || (!p.dropped.IsZero() && !now.Before(p.dropped))
}

func (p *peering) joins(vpcID string) bool { return p.vpcs[0] == vpcID || p.vpcs[1] == vpcID }

// missingPeer is the VPC of a peering that is gone, if one is. Lists show the peering all the same.
func (s *Server) missingPeer(p *peering) string {
	for _, id := range p.vpcs {
		if _, found := s.state.vpcs.byID(id); !found {
			return id
		}
	}
	return ""
}

// dropPeerings lets the site drop the peerings of a VPC with it, of which the service hears by an inventory.
func (s *Server) dropPeerings(vpcID string, at time.Time) {
	for _, p := range s.state.peerings.Items {
		if p.joins(vpcID) && p.dropped.IsZero() {
			p.dropped = s.seen(at)
		}
	}
}

func (p *peering) isMultiTenant() bool { return p.tenants[0] != p.tenants[1] }

// ListVPCPeerings implements the API.
func (s *Server) ListVPCPeerings(
	ctx context.Context, r gen.ListVPCPeeringsRequestObject,
) (gen.ListVPCPeeringsResponseObject, error) {
	p := r.Params
	page, header := listOwn(s, &s.state.peerings, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy, siteID: p.SiteID,
	}, s.peeringView, func(p *peering) bool { return s.checkPeer(ctx, p, "see") == nil })
	headers := gen.ListVPCPeerings200ResponseHeaders{XPagination: header}
	return gen.ListVPCPeerings200JSONResponse{Body: page, Headers: headers}, nil
}

// GetVPCPeering implements the API.
func (s *Server) GetVPCPeering(
	ctx context.Context, r gen.GetVPCPeeringRequestObject,
) (gen.GetVPCPeeringResponseObject, error) {
	var view api.VPCPeering
	err := s.change(func(now time.Time) error {
		p, err := s.peering(ctx, r.ID, "see")
		if err == nil {
			view = s.peeringView(p, now)
		}
		return err
	})
	return gen.GetVPCPeering200JSONResponse(view), err
}

func (s *Server) peering(ctx context.Context, id, verb string) (*peering, error) {
	p, found := s.state.peerings.byID(id)
	switch {
	case !found && verb == "see":
		return nil, refuse(http.StatusNotFound, "Could not find VPC peering with ID: %s", id)
	case !found:
		return nil, refuse(http.StatusNotFound, "Could not find VPC peering with specified ID")
	}
	if vpcID := s.missingPeer(p); vpcID != "" {
		return nil, refuse(http.StatusNotFound, "Could not find VPC with ID: %s", vpcID)
	}
	return p, s.checkPeer(ctx, p, verb)
}

// checkPeer refuses a caller that a peering isn't for. Between two tenants it is the provider's, for one it is his own.
func (s *Server) checkPeer(ctx context.Context, p *peering, verb string) error {
	me := s.config.Tenant.ID
	mine := has(ctx, TenantAdmin) && (p.tenants[0] == me || p.tenants[1] == me)
	switch {
	case mine && (verb == "see" || !p.isMultiTenant()):
	case p.isMultiTenant() && has(ctx, ProviderAdmin):
	default:
		return refuse(http.StatusForbidden, "User does not have access to %s the VPC peering", verb)
	}
	return nil
}

// CreateVPCPeering implements the API.
func (s *Server) CreateVPCPeering(
	ctx context.Context, r gen.CreateVPCPeeringRequestObject,
) (gen.CreateVPCPeeringResponseObject, error) {
	drafts := func(m maker, request api.VPCPeeringCreateRequest, now time.Time) (draft[*peering], error) {
		p, err := s.plannedPeering(m, request, now)
		if err == nil {
			err = s.checkPeer(ctx, p, "create")
		}
		return p.draft(m), err
	}
	view, err := create(ctx, s, &s.state.peerings, drafts, *r.Body, s.peeringView)
	return gen.CreateVPCPeering201JSONResponse(view), err
}

func (s *Server) draftPeering(m maker, request api.VPCPeeringCreateRequest, now time.Time) (draft[*peering], error) {
	p, err := s.plannedPeering(m, request, now)
	return p.draft(m), err
}

// plannedPeering checks a request, except for the rights of its sender.
func (s *Server) plannedPeering(m maker, request api.VPCPeeringCreateRequest, now time.Time) (*peering, error) {
	p := &peering{vpcs: [2]string{request.VPC1ID, request.VPC2ID}}
	site, err := s.registered(request.SiteID)
	if err != nil {
		return p, err
	}
	if request.VPC1ID == request.VPC2ID {
		return p, badField("vpc2Id", "must be another VPC than vpc1Id")
	}
	for i, id := range p.vpcs {
		v, found := s.state.vpcs.byID(id)
		switch {
		case !found:
			return p, refuse(http.StatusNotFound, "Could not find VPC with ID: %s specified in request data", id)
		case v.siteID != site.ID:
			return p, bad("VPC: %s does not belong to Site specified in request data", id)
		case v.Status(now) != string(api.VPCStatusReady):
			return p, bad("Both VPCs must be in Ready state to proceed with peering")
		case !m.world && !s.allocated(v.tenantID, site.ID):
			return p, refuse(http.StatusForbidden, "Tenant of VPC: %s does not have access to Site", id)
		}
		p.tenants[i] = v.tenantID
	}
	if s.state.peerings.Any(func(other *peering) bool { return other.joins(p.vpcs[0]) && other.joins(p.vpcs[1]) }) {
		return p, refuse(http.StatusConflict, "VPC peering already exists between VPCs specified in request data")
	}
	p.siteID = site.ID
	return p, nil
}

func (p *peering) draft(m maker) draft[*peering] {
	m.tenantID = p.tenants[0]
	return draft[*peering]{siteID: p.siteID, commit: func(now time.Time) (*peering, error) {
		p.object = m.object(p.siteID, now, 0)
		return p, nil
	}}
}

// DeleteVPCPeering implements the API. Unlike others, it is gone at once.
func (s *Server) DeleteVPCPeering(
	ctx context.Context, r gen.DeleteVPCPeeringRequestObject,
) (gen.DeleteVPCPeeringResponseObject, error) {
	err := s.alter(func(now time.Time) (string, func(), error) {
		p, err := s.peering(ctx, r.ID, "delete")
		if err != nil {
			return "", nil, err
		}
		return p.siteID, func() { p.Delete(now, 0) }, nil
	})
	return gen.DeleteVPCPeering204Response{}, err
}

func (s *Server) peeringView(p *peering, now time.Time) api.VPCPeering {
	return api.VPCPeering{
		ID: p.id, SiteID: p.siteID, VPC1ID: p.vpcs[0], VPC2ID: p.vpcs[1], IsMultiTenant: p.isMultiTenant(),
		Status: api.VPCPeeringStatus(p.Status(now)), Created: p.Created, Updated: p.Updated(now),
	}
}
