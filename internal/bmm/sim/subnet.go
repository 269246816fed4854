package sim

import (
	"context"
	"net/netip"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// subnet is a network of an Ethernet VPC.
type subnet struct {
	object
	blockID string
	prefix  netip.Prefix
}

// ListSubnets implements the API.
func (s *Server) ListSubnets(_ context.Context, r gen.ListSubnetsRequestObject) (gen.ListSubnetsResponseObject, error) {
	p := r.Params
	page, header := listOwn(s, &s.state.subnets, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, vpcID: p.VPCID, status: p.Status, fullText: p.Query,
	}, s.subnetView)
	headers := gen.ListSubnets200ResponseHeaders{XPagination: header}
	return gen.ListSubnets200JSONResponse{Body: page, Headers: headers}, nil
}

// GetSubnet implements the API.
func (s *Server) GetSubnet(_ context.Context, r gen.GetSubnetRequestObject) (gen.GetSubnetResponseObject, error) {
	view, err := show(s, &s.state.subnets, r.ID, s.subnetView)
	return gen.GetSubnet200JSONResponse(view), err
}

// CreateSubnet implements the API. Unlike names, ranges are never doubled.
func (s *Server) CreateSubnet(
	ctx context.Context, r gen.CreateSubnetRequestObject,
) (gen.CreateSubnetResponseObject, error) {
	view, err := create(ctx, s, &s.state.subnets, s.draftSubnet, *r.Body, s.subnetView)
	return gen.CreateSubnet201JSONResponse(view), err
}

func (s *Server) draftSubnet(m maker, request api.SubnetCreateRequest, now time.Time) (draft[*subnet], error) {
	v, err := s.readyVPC(request.VPCID, m.tenantID, now)
	if err != nil {
		return draft[*subnet]{}, err
	}
	if v.isFNN() {
		return draft[*subnet]{}, bad(
			"VPC: %s specified in request must have Ethernet network virtualization type in order to create Subnets", v.id)
	}
	block, found := s.state.ipBlocks.byID(request.Ipv4BlockID)
	switch {
	case !found:
		return draft[*subnet]{}, bad("Error retrieving ipv4 IPBlock from request")
	case block.tenantID != m.tenantID:
		return draft[*subnet]{}, bad("ipv4 IPBlock in request does not belong to tenant")
	case block.siteID != v.siteID:
		return draft[*subnet]{}, bad("IPv4 Block specified in request and VPC do not belong to the same Site")
	}
	if other, found := s.state.subnets.named(m.tenantID, v.siteID, request.Name); found {
		return draft[*subnet]{}, nameTaken("A Subnet", other.id)
	}
	return draft[*subnet]{siteID: v.siteID, lock: blockLock(m, block), commit: func(now time.Time) (*subnet, error) {
		if _, err := s.readyVPC(v.id, m.tenantID, now); err != nil { // deleted meanwhile
			return nil, err
		}
		cut, err := s.cut(block, request.PrefixLength, "Subnet")
		if err != nil {
			return nil, err
		}
		n := &subnet{object: m.object(v.siteID, now, s.config.Times.Subnet.Duration), blockID: block.id, prefix: cut}
		n.name, n.description, n.vpcID = request.Name, request.Description, v.id
		return n, nil
	}}, nil
}

// cut returns a free range of the block.
func (s *Server) cut(block *ipBlock, length int, what string) (netip.Prefix, error) {
	cut, ok := freePrefix(block.prefix, length, s.usedPrefixes(block.siteID))
	if !ok {
		return cut, bad("Could not create IPAM entry for %s. Details: no prefix of length %d left in %s",
			what, length, block.prefix)
	}
	return cut, nil
}

// UpdateSubnet implements the API.
func (s *Server) UpdateSubnet(_ context.Context, r gen.UpdateSubnetRequestObject) (gen.UpdateSubnetResponseObject, error) {
	view, err := rename(s, &s.state.subnets, r.ID, r.Body.Name, s.subnetView)
	return gen.UpdateSubnet200JSONResponse(view), err
}

// DeleteSubnet implements the API.
func (s *Server) DeleteSubnet(
	_ context.Context, r gen.DeleteSubnetRequestObject,
) (gen.DeleteSubnetResponseObject, error) {
	err := remove(s, &s.state.subnets, r.ID, s.config.Times.SubnetDelete.Duration, func(n *subnet) error {
		if s.state.instances.Any(func(i *instance) bool { return i.uses(n.id) }) {
			return bad("Subnet is being used by one or more Instances and cannot be deleted")
		}
		return nil
	})
	return gen.DeleteSubnet202Response{}, err
}

func (s *Server) subnetView(n *subnet, now time.Time) api.Subnet {
	return api.Subnet{
		ID: n.id, Name: n.name, Description: n.description, SiteID: n.siteID, VPCID: n.vpcID,
		Ipv4Prefix: n.prefix.Addr().String(), Ipv4BlockID: n.blockID, Ipv4Gateway: gateway(n.prefix).String(),
		PrefixLength: n.prefix.Bits(), Status: api.SubnetStatus(n.Status(now)), Created: n.Created, Updated: n.Updated(now),
	}
}
