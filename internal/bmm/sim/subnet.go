package sim

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/google/uuid"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

type subnet struct {
	life
	id, siteID string
	prefix     netip.Prefix
	request    api.SubnetCreateRequest
}

// ListSubnets implements the API.
func (s *Server) ListSubnets(_ context.Context, r gen.ListSubnetsRequestObject) (gen.ListSubnetsResponseObject, error) {
	var all []api.Subnet
	s.view(func(now time.Time) {
		for _, n := range s.state.subnets {
			all = append(all, n.view(now))
		}
	})
	p := r.Params
	page, header := selectPage(all, func(n api.Subnet) row {
		return row{id: n.ID, name: n.Name, status: string(n.Status), siteID: n.SiteID, vpcID: n.VPCID, created: n.Created}
	}, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, vpcID: p.VPCID, status: p.Status, fullText: p.Query,
	})
	headers := gen.ListSubnets200ResponseHeaders{XPagination: header}
	return gen.ListSubnets200JSONResponse{Body: page, Headers: headers}, nil
}

// GetSubnet implements the API.
func (s *Server) GetSubnet(_ context.Context, r gen.GetSubnetRequestObject) (gen.GetSubnetResponseObject, error) {
	var view api.Subnet
	err := s.change(func(now time.Time) error {
		n, err := s.subnet(r.ID)
		if err == nil {
			view = n.view(now)
		}
		return err
	})
	return gen.GetSubnet200JSONResponse(view), err
}

// CreateSubnet implements the API. Names are checked before the wait and not again; ranges are cut under a lock.
func (s *Server) CreateSubnet(
	_ context.Context, r gen.CreateSubnetRequestObject,
) (gen.CreateSubnetResponseObject, error) {
	request := *r.Body
	var siteID string
	var block IPBlock
	err := s.change(func(now time.Time) error {
		v, err := s.readyVPC(request.VPCID, now)
		if err != nil {
			return err
		}
		siteID = v.request.SiteID
		block, err = s.checkSubnet(v, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.wait(s.config.Times.Create.Duration); err != nil {
		return nil, err
	}
	var view api.Subnet
	err = s.change(func(now time.Time) error {
		prefix, ok := freePrefix(block.prefix(), request.PrefixLength, s.usedPrefixes())
		if !ok {
			return refuse(http.StatusBadRequest,
				"Could not create IPAM entry for Subnet. Details: no prefix of length %d left in %s", request.PrefixLength, block.prefix())
		}
		n := &subnet{
			life: newLife(now, s.config.Times.Subnet.Duration), id: uuid.NewString(), siteID: siteID,
			prefix: prefix, request: request,
		}
		s.state.subnets = append(s.state.subnets, n)
		view = n.view(now)
		return nil
	})
	return gen.CreateSubnet201JSONResponse(view), err
}

func (s *Server) readyVPC(id string, now time.Time) (*vpc, error) {
	v, err := s.vpc(id)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "Could not find VPC specified in request")
	}
	if v.status(now) != "Ready" {
		return nil, refuse(http.StatusBadRequest, "VPC specified in request data must be in Ready state")
	}
	return v, nil
}

func (s *Server) checkSubnet(v *vpc, request api.SubnetCreateRequest) (IPBlock, error) {
	if v.request.NetworkVirtualizationType != api.NetworkVirtualizationTypeETHERNETVIRTUALIZER {
		return IPBlock{}, refuse(http.StatusBadRequest,
			"VPC: %s specified in request must have Ethernet network virtualization type in order to create Subnets", v.id)
	}
	block, err := s.ipBlock(request.Ipv4BlockID)
	switch {
	case err != nil:
		return IPBlock{}, refuse(http.StatusBadRequest, "Error retrieving ipv4 IPBlock from request")
	case block.TenantID != s.config.Tenant.ID:
		return IPBlock{}, refuse(http.StatusBadRequest, "ipv4 IPBlock in request does not belong to tenant")
	case block.SiteID != v.request.SiteID:
		return IPBlock{}, refuse(http.StatusBadRequest,
			"IPv4 Block specified in request and VPC do not belong to the same Site")
	}
	if other := find(s.state.subnets, func(n *subnet) bool {
		return n.request.Name == request.Name && n.siteID == v.request.SiteID
	}); other != nil {
		return IPBlock{}, nameTaken("A Subnet", other.id)
	}
	return block, nil
}

// DeleteSubnet implements the API.
func (s *Server) DeleteSubnet(
	_ context.Context, r gen.DeleteSubnetRequestObject,
) (gen.DeleteSubnetResponseObject, error) {
	err := s.change(func(now time.Time) error {
		n, err := s.subnet(r.ID)
		if err != nil {
			return err
		}
		if find(s.state.instances, func(i *instance) bool { return i.uses(n.id) }) != nil {
			return refuse(http.StatusBadRequest, "Subnet is being used by one or more Instances and cannot be deleted")
		}
		n.delete(now, s.config.Times.SubnetDelete.Duration)
		return nil
	})
	return gen.DeleteSubnet202Response{}, err
}

func (s *Server) subnet(id string) (*subnet, error) {
	if n := find(s.state.subnets, func(n *subnet) bool { return n.id == id }); n != nil {
		return n, nil
	}
	return nil, refuse(http.StatusNotFound, "Could not find Subnet with specified ID")
}

func (n *subnet) view(now time.Time) api.Subnet {
	return api.Subnet{
		ID: n.id, Name: n.request.Name, Description: n.request.Description, SiteID: n.siteID, VPCID: n.request.VPCID,
		Ipv4Prefix: n.prefix.Addr().String(), Ipv4BlockID: n.request.Ipv4BlockID, Ipv4Gateway: gateway(n.prefix).String(),
		PrefixLength: n.prefix.Bits(), Status: api.SubnetStatus(n.status(now)), Created: n.created, Updated: n.updated(now),
	}
}
