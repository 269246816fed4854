package sim

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// ipBlock is a range of addresses: the provider's, without a tenant, or what a tenant has been allocated of one.
type ipBlock struct {
	object
	prefix  netip.Prefix
	routing api.IPBlockRoutingType
}

func worldBlock(b IPBlock, now time.Time) *ipBlock {
	block := &ipBlock{object: maker{tenantID: b.TenantID, id: b.ID, world: true}.object(b.SiteID, now, 0),
		prefix: b.prefix(), routing: api.IPBlockRoutingTypeDatacenterOnly}
	block.name = b.Name
	return block
}

// ListIPBlocks implements the API. Providers see their blocks as well.
func (s *Server) ListIPBlocks(
	ctx context.Context, r gen.ListIPBlocksRequestObject,
) (gen.ListIPBlocksResponseObject, error) {
	p := r.Params
	page, header := listOwn(s, &s.state.ipBlocks, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, status: p.Status, fullText: p.Query,
	}, s.ipBlockView, func(b *ipBlock) bool { return b.tenantID == "" && has(ctx, ProviderAdmin) })
	headers := gen.ListIPBlocks200ResponseHeaders{XPagination: header}
	return gen.ListIPBlocks200JSONResponse{Body: page, Headers: headers}, nil
}

// GetIPBlock implements the API.
func (s *Server) GetIPBlock(ctx context.Context, r gen.GetIPBlockRequestObject) (gen.GetIPBlockResponseObject, error) {
	var view api.IPBlock
	err := s.change(func(now time.Time) error {
		block, found := s.state.ipBlocks.byID(r.ID)
		if !found || block.tenantID != "" || !has(ctx, ProviderAdmin) {
			var err error
			if block, err = s.state.ipBlocks.get(s.config.Tenant.ID, r.ID); err != nil {
				return err
			}
		}
		view = s.ipBlockView(block, now)
		return nil
	})
	return gen.GetIPBlock200JSONResponse(view), err
}

// CreateIPBlock implements the API. The new block is the provider's; the site has no part in it.
func (s *Server) CreateIPBlock(
	_ context.Context, r gen.CreateIPBlockRequestObject,
) (gen.CreateIPBlockResponseObject, error) {
	var view api.IPBlock
	err := s.change(func(now time.Time) error {
		prefix, err := s.checkBlock(*r.Body)
		if err != nil {
			return err
		}
		block := &ipBlock{object: maker{}.object(r.Body.SiteID, now, 0), prefix: prefix, routing: r.Body.RoutingType}
		block.name, block.description = r.Body.Name, r.Body.Description
		s.state.ipBlocks.Add(block)
		view = s.ipBlockView(block, now)
		return nil
	})
	return gen.CreateIPBlock201JSONResponse(view), err
}

func (s *Server) checkBlock(request api.IPBlockCreateRequest) (netip.Prefix, error) {
	addr, err := netip.ParseAddr(request.Prefix)
	if err != nil || !addr.Is4() || request.ProtocolVersion != api.IPBlockProtocolVersionIPv4 || request.PrefixLength > 32 {
		return netip.Prefix{}, badField("prefix", "must be a valid IPv4 address")
	}
	prefix := netip.PrefixFrom(addr, request.PrefixLength)
	if prefix != prefix.Masked() {
		return prefix, badField("prefix", "must be the first address of the range: %s", prefix.Masked().Addr())
	}
	if _, err := s.registered(request.SiteID); err != nil {
		return prefix, err
	}
	if other, found := s.state.ipBlocks.named("", request.SiteID, request.Name); found {
		return prefix, taken(
			"IPBlock with name: "+request.Name+" for Site: "+request.SiteID+" already exists for provider", other.id)
	}
	if other, found := s.state.ipBlocks.Find(func(b *ipBlock) bool {
		return b.siteID == request.SiteID && b.prefix.Overlaps(prefix)
	}); found {
		return prefix, refuse(http.StatusConflict,
			"Could not create IPAM entry for IPBlock. Details: %s overlaps %s", prefix, other.prefix)
	}
	return prefix, nil
}

// DeleteIPBlock implements the API.
func (s *Server) DeleteIPBlock(
	_ context.Context, r gen.DeleteIPBlockRequestObject,
) (gen.DeleteIPBlockResponseObject, error) {
	err := s.change(func(now time.Time) error {
		block, found := s.state.ipBlocks.byID(r.ID)
		switch {
		case !found:
			return refuse(http.StatusNotFound, "Could not find IP Block with specified ID")
		case block.tenantID != "":
			return bad("Allocated Tenant IP Blocks cannot be deleted directly, delete the Allocation instead")
		}
		n := s.state.allocations.Count(func(a *allocation) bool { return a.constraint.ResourceTypeID == block.id })
		if n > 0 {
			return bad("%d Allocations exist for IP Block, unable to delete", n)
		}
		block.Delete(now, 0)
		return nil
	})
	return gen.DeleteIPBlock202Response{}, err
}

func (s *Server) ipBlockView(b *ipBlock, now time.Time) api.IPBlock {
	return api.IPBlock{
		ID: b.id, Name: b.name, Description: b.description, SiteID: b.siteID, TenantID: b.tenantID,
		InfrastructureProviderID: s.config.ProviderID,
		RoutingType:              b.routing, ProtocolVersion: api.IPBlockProtocolVersionIPv4,
		Prefix: b.prefix.Addr().String(), PrefixLength: b.prefix.Bits(), Status: api.IPBlockStatus(b.Status(now)),
		Created: b.Created, Updated: b.Updated(now),
	}
}
