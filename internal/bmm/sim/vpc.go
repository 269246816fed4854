package sim

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

type vpc struct {
	object
	attachment
	vni         int
	partitionID string
	request     api.VPCCreateRequest
	// synced are the times when the service, having heard of an inventory that was older than a change of the metadata, sent
	// these to the site again: without the group, which the site takes for none.
	synced []time.Time
}

// enforced is the group that the site applies, which the API may know nothing of.
func (v *vpc) enforced(now time.Time) string {
	if slices.ContainsFunc(v.synced, func(at time.Time) bool { return !at.After(now) && !v.sent.After(at) }) {
		return ""
	}
	return v.groupID
}

// sync lets the service correct the metadata at the site, if it is still to hear of an inventory from before a change.
// Where the VPC had no labels then, it sees no difference.
func (s *Server) sync(v *vpc, request api.VPCUpdateRequest, now time.Time) {
	changes := (request.Name != "" && request.Name != v.name) ||
		(request.Description != nil && *request.Description != v.description) ||
		(request.Labels != nil && !maps.Equal(*request.Labels, v.labels))
	inventory := s.taken(now)
	if at := s.heard(inventory); changes && len(v.labels) > 0 && !v.Created.After(inventory) && at.After(now) {
		v.synced = append(v.synced, at)
	}
}

// firstVNI is the first of the network identifiers that the simulator hands out.
const firstVNI = 10000

// ListVpcs implements the API.
func (s *Server) ListVpcs(_ context.Context, r gen.ListVpcsRequestObject) (gen.ListVpcsResponseObject, error) {
	p := r.Params
	page, header := listOwn(s, &s.state.vpcs, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, status: p.Status, fullText: p.Query,
	}, asSeen(s.vpcView))
	headers := gen.ListVpcs200ResponseHeaders{XPagination: header}
	return gen.ListVpcs200JSONResponse{Body: page, Headers: headers}, nil
}

// GetVPC implements the API.
func (s *Server) GetVPC(_ context.Context, r gen.GetVPCRequestObject) (gen.GetVPCResponseObject, error) {
	view, err := show(s, &s.state.vpcs, r.ID, asSeen(s.vpcView))
	return gen.GetVPC200JSONResponse(view), err
}

// CreateVPC implements the API. Of all that could be doubled, only the ID is a primary key.
func (s *Server) CreateVPC(ctx context.Context, r gen.CreateVPCRequestObject) (gen.CreateVPCResponseObject, error) {
	view, err := create(ctx, s, &s.state.vpcs, s.draftVPC, *r.Body, s.vpcView)
	return gen.CreateVPC201JSONResponse(view), err
}

func (s *Server) draftVPC(m maker, request api.VPCCreateRequest, _ time.Time) (draft[*vpc], error) {
	if request.ID != "" {
		m.id = request.ID
	}
	request = s.dialect().readVPC(request)
	if err := s.checkVPC(m, &request); err != nil {
		return draft[*vpc]{}, err
	}
	return draft[*vpc]{siteID: request.SiteID, commit: func(now time.Time) (*vpc, error) {
		v := &vpc{
			object: m.object(request.SiteID, now, s.config.Times.VPC.Duration),
			vni:    request.VNI, partitionID: request.NVLinkLogicalPartitionID, request: request,
		}
		v.name, v.description, v.labels = request.Name, request.Description, request.Labels
		v.attach(request.NetworkSecurityGroupID, now)
		if s.state.usedVPCIDs[v.id] {
			return nil, refuse(http.StatusInternalServerError, "Failed creating VPC record, DB error")
		}
		if v.vni == 0 {
			v.vni = firstVNI + len(s.state.usedVPCIDs)
		}
		s.state.usedVPCIDs[v.id] = true
		return v, nil
	}}, nil
}

// checkVPC checks a request and fills in the default type.
func (s *Server) checkVPC(m maker, request *api.VPCCreateRequest) error {
	site, err := s.registered(request.SiteID)
	if err != nil {
		return err
	}
	if !m.world && !s.allocated(m.tenantID, site.ID) {
		return refuse(http.StatusForbidden, "Tenant does not have any Allocations with Site specified in request data")
	}
	if other, found := s.state.vpcs.byID(request.ID); found {
		return taken("A Vpc with specified ID already exists", other.id)
	}
	if other, found := s.state.vpcs.named(m.tenantID, site.ID, request.Name); found {
		return nameTaken("A Vpc", other.id)
	}
	if request.NetworkVirtualizationType == "" {
		request.NetworkVirtualizationType = api.NetworkVirtualizationTypeETHERNETVIRTUALIZER
		if site.NativeNetworking {
			request.NetworkVirtualizationType = api.NetworkVirtualizationTypeFNN
		}
	}
	isFNN := request.NetworkVirtualizationType == api.NetworkVirtualizationTypeFNN
	profiles := []string{"", "privileged-internal", "internal", "external"}
	switch {
	case isFNN && !site.NativeNetworking:
		return bad("Site specified in request data must have native networking enabled in order to create FNN VPCs")
	case request.RoutingProfile != "" && !isFNN:
		return badField("routingProfile", "can only be specified for VPCs of network virtualization type FNN")
	case !slices.Contains(profiles, request.RoutingProfile):
		return badField("routingProfile", "must be one of %v", profiles[1:])
	}
	if err := s.checkGroup(request.NetworkSecurityGroupID, m.tenantID, site); err != nil {
		return err
	}
	return s.checkLogicalPartition(request.NVLinkLogicalPartitionID, m.tenantID, site)
}

// UpdateVPC implements the API.
func (s *Server) UpdateVPC(_ context.Context, r gen.UpdateVPCRequestObject) (gen.UpdateVPCResponseObject, error) {
	request := *r.Body
	var view api.VPC
	err := s.alter(func(now time.Time) (string, func(), error) {
		v, err := s.state.vpcs.get(s.config.Tenant.ID, r.ID)
		if err != nil {
			return "", nil, err
		}
		site, _ := s.site(v.siteID) // sites don't go
		for _, err := range []error{
			s.state.vpcs.checkName(v, request.Name),
			s.checkGroup(ptr.Deref(request.NetworkSecurityGroupID, ""), v.tenantID, site),
			s.checkLogicalPartition(ptr.Deref(request.NVLinkLogicalPartitionID, ""), v.tenantID, site),
		} {
			if err != nil {
				return "", nil, err
			}
		}
		return v.siteID, func() {
			s.outdate(&v.object, s.vpcView(v, now), now)
			s.sync(v, request, now)
			v.describe(request.Name, request.Description, request.Labels)
			if request.NetworkSecurityGroupID != nil {
				v.attach(*request.NetworkSecurityGroupID, now)
			}
			set(&v.partitionID, request.NVLinkLogicalPartitionID)
			v.Changed = now
			view = s.vpcView(v, now)
		}, nil
	})
	return gen.UpdateVPC200JSONResponse(view), err
}

// DeleteVPC implements the API. Peerings don't keep a VPC.
func (s *Server) DeleteVPC(_ context.Context, r gen.DeleteVPCRequestObject) (gen.DeleteVPCResponseObject, error) {
	takes := s.config.Times.VPCDelete.Duration
	err := remove(s, &s.state.vpcs, r.ID, takes, func(v *vpc) error {
		for _, users := range []struct {
			what  string
			exist bool
		}{
			{"Subnets", s.state.subnets.Any(func(n *subnet) bool { return n.vpcID == v.id })},
			{"VPC Prefixes", s.state.prefixes.Any(func(p *prefix) bool { return p.vpcID == v.id })},
			{"Instances", s.state.instances.Any(func(i *instance) bool { return i.isIn(v.id) })},
		} {
			if users.exist {
				return bad("Cannot delete VPC, one or more %s exist for this VPC", users.what)
			}
		}
		return nil
	})
	if err == nil {
		s.view(func(now time.Time) { s.dropPeerings(r.ID, now.Add(takes)) })
	}
	return gen.DeleteVPC202Response{}, err
}

// readyVPC is the VPC of a request, if something can be made in it.
func (s *Server) readyVPC(id, tenantID string, now time.Time) (*vpc, error) {
	v, found := s.state.vpcs.byID(id)
	switch {
	case !found:
		return nil, bad("Could not find VPC specified in request")
	case v.tenantID != tenantID:
		return nil, bad("VPC specified in request is not owned by Tenant")
	case v.Status(now) != string(api.VPCStatusReady):
		return nil, bad("VPC specified in request data must be in Ready state")
	}
	_, err := s.registered(v.siteID)
	return v, err
}

func (v *vpc) isFNN() bool {
	return v.request.NetworkVirtualizationType == api.NetworkVirtualizationTypeFNN
}

func (s *Server) vpcView(v *vpc, now time.Time) api.VPC {
	return api.VPC{
		ID: v.id, Name: v.name, Description: v.description, Labels: v.labels,
		Org: s.config.Org, TenantID: v.tenantID, SiteID: v.siteID,
		NetworkVirtualizationType: v.request.NetworkVirtualizationType, RoutingProfile: v.request.RoutingProfile,
		VNI: v.vni, RequestedVNI: v.request.VNI, NVLinkLogicalPartitionID: v.partitionID,
		NetworkSecurityGroupID: v.groupID, NetworkSecurityGroupPropagationDetails: s.vpcPropagation(v, now),
		Status: api.VPCStatus(v.Status(now)), Created: v.Created, Updated: v.Updated(now),
	}
}
