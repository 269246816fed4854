package sim

import (
	"context"
	"net/netip"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// prefix is a network of an FNN VPC.
type prefix struct {
	object
	blockID string
	prefix  netip.Prefix
}

// ListVPCPrefixes implements the API.
func (s *Server) ListVPCPrefixes(
	_ context.Context, r gen.ListVPCPrefixesRequestObject,
) (gen.ListVPCPrefixesResponseObject, error) {
	p := r.Params
	page, header := listOwn(s, &s.state.prefixes, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, vpcID: p.VPCID, status: p.Status, fullText: p.Query,
	}, s.prefixView)
	headers := gen.ListVPCPrefixes200ResponseHeaders{XPagination: header}
	return gen.ListVPCPrefixes200JSONResponse{Body: page, Headers: headers}, nil
}

// GetVPCPrefix implements the API.
func (s *Server) GetVPCPrefix(
	_ context.Context, r gen.GetVPCPrefixRequestObject,
) (gen.GetVPCPrefixResponseObject, error) {
	view, err := show(s, &s.state.prefixes, r.ID, s.prefixView)
	return gen.GetVPCPrefix200JSONResponse(view), err
}

// CreateVPCPrefix implements the API. The prefix is Ready as soon as the site has done its part.
func (s *Server) CreateVPCPrefix(
	ctx context.Context, r gen.CreateVPCPrefixRequestObject,
) (gen.CreateVPCPrefixResponseObject, error) {
	view, err := create(ctx, s, &s.state.prefixes, s.draftPrefix, *r.Body, s.prefixView)
	return gen.CreateVPCPrefix201JSONResponse(view), err
}

func (s *Server) draftPrefix(m maker, request api.VPCPrefixCreateRequest, now time.Time) (draft[*prefix], error) {
	v, err := s.readyVPC(request.VPCID, m.tenantID, now)
	if err != nil {
		return draft[*prefix]{}, err
	}
	if !v.isFNN() {
		return draft[*prefix]{}, bad(
			"VPC: %s specified in request must have FNN network virtualization type in order to create VPC Prefixes", v.id)
	}
	block, found := s.state.ipBlocks.byID(request.IPBlockID)
	switch {
	case !found:
		return draft[*prefix]{}, bad("Could not find IPBlock with ID specified in request data")
	case block.tenantID != m.tenantID:
		return draft[*prefix]{}, bad("IPBlock in request does not belong to tenant")
	case block.siteID != v.siteID:
		return draft[*prefix]{}, bad("IPBlock specified in request and VPC do not belong to the same Site")
	}
	if other, found := s.state.prefixes.named(m.tenantID, v.siteID, request.Name); found {
		return draft[*prefix]{}, taken("A VPC prefix with specified name already exists for Tenant at this Site", other.id)
	}
	return draft[*prefix]{siteID: v.siteID, lock: blockLock(m, block), commit: func(now time.Time) (*prefix, error) {
		if _, err := s.readyVPC(v.id, m.tenantID, now); err != nil { // deleted meanwhile
			return nil, err
		}
		cut, err := s.cut(block, request.PrefixLength, "VPC Prefix")
		if err != nil {
			return nil, err
		}
		p := &prefix{object: m.object(v.siteID, now, 0), blockID: block.id, prefix: cut}
		p.name, p.vpcID = request.Name, v.id
		return p, nil
	}}, nil
}

// UpdateVPCPrefix implements the API.
func (s *Server) UpdateVPCPrefix(
	_ context.Context, r gen.UpdateVPCPrefixRequestObject,
) (gen.UpdateVPCPrefixResponseObject, error) {
	view, err := rename(s, &s.state.prefixes, r.ID, r.Body.Name, s.prefixView)
	return gen.UpdateVPCPrefix200JSONResponse(view), err
}

// DeleteVPCPrefix implements the API.
func (s *Server) DeleteVPCPrefix(
	_ context.Context, r gen.DeleteVPCPrefixRequestObject,
) (gen.DeleteVPCPrefixResponseObject, error) {
	err := remove(s, &s.state.prefixes, r.ID, s.config.Times.SubnetDelete.Duration, func(p *prefix) error {
		if s.state.instances.Any(func(i *instance) bool { return i.uses(p.id) }) {
			return bad("VPC Prefix is being used by one or more Instances and cannot be deleted")
		}
		return nil
	})
	return gen.DeleteVPCPrefix202Response{}, err
}

func (s *Server) prefixView(p *prefix, now time.Time) api.VPCPrefix {
	return api.VPCPrefix{
		ID: p.id, Name: p.name, SiteID: p.siteID, VPCID: p.vpcID, IPBlockID: p.blockID,
		Prefix: p.prefix.String(), PrefixLength: p.prefix.Bits(),
		Status: api.VPCPrefixStatus(p.Status(now)), Created: p.Created, Updated: p.Updated(now),
	}
}
