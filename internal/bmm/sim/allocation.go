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

// allocation is what the provider has given to a tenant: a part of an IP block, or a number of machines.
type allocation struct {
	object
	constraintID string
	constraint   api.AllocationConstraintCreateRequest
	// derivedID is the tenant's own block, for a part of an IP block.
	derivedID string
}

// status has a word of its own.
func (a *allocation) Status(now time.Time) string {
	if status := a.Life.Status(now); status != "Ready" {
		return status
	}
	return string(api.AllocationStatusRegistered)
}

// isMachines reports whether it is one of machines of the type.
func (a *allocation) isMachines(typeID string) bool {
	return a.constraint.ResourceType == api.AllocationResourceTypeInstanceType && a.constraint.ResourceTypeID == typeID
}

// ListAllocations implements the API. Providers see those of all tenants.
func (s *Server) ListAllocations(
	ctx context.Context, r gen.ListAllocationsRequestObject,
) (gen.ListAllocationsResponseObject, error) {
	p := r.Params
	page, header := listOwn(s, &s.state.allocations, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, tenantID: p.TenantID, status: p.Status, fullText: p.Query,
	}, s.allocationView, func(*allocation) bool { return has(ctx, ProviderAdmin) })
	headers := gen.ListAllocations200ResponseHeaders{XPagination: header}
	return gen.ListAllocations200JSONResponse{Body: page, Headers: headers}, nil
}

// GetAllocation implements the API.
func (s *Server) GetAllocation(
	ctx context.Context, r gen.GetAllocationRequestObject,
) (gen.GetAllocationResponseObject, error) {
	var view api.Allocation
	err := s.change(func(now time.Time) error {
		a, err := s.allocation(r.ID)
		switch {
		case err != nil:
			return err
		case a.tenantID != s.config.Tenant.ID && !has(ctx, ProviderAdmin):
			return refuse(http.StatusForbidden, "Allocation does not belong to current Tenant")
		}
		view = s.allocationView(a, now)
		return nil
	})
	return gen.GetAllocation200JSONResponse(view), err
}

func (s *Server) allocation(id string) (*allocation, error) {
	a, found := s.state.allocations.byID(id)
	if !found {
		return nil, refuse(http.StatusNotFound, "Allocation specified does not exist, or has been deleted")
	}
	return a, nil
}

// CreateAllocation implements the API. The site has no part in it.
func (s *Server) CreateAllocation(
	_ context.Context, r gen.CreateAllocationRequestObject,
) (gen.CreateAllocationResponseObject, error) {
	var view api.Allocation
	err := s.change(func(now time.Time) error {
		request := *r.Body
		if err := s.checkAllocation(request); err != nil {
			return err
		}
		a := &allocation{object: maker{tenantID: request.TenantID}.object(request.SiteID, now, 0),
			constraintID: uuid.NewString(), constraint: request.AllocationConstraints[0]}
		a.name, a.description = request.Name, request.Description
		if err := s.allocate(a, now); err != nil {
			return err
		}
		s.state.allocations.Add(a)
		view = s.allocationView(a, now)
		return nil
	})
	return gen.CreateAllocation201JSONResponse(view), err
}

func (s *Server) checkAllocation(request api.AllocationCreateRequest) error {
	if len(request.AllocationConstraints) != 1 {
		return badField("allocationConstraints", "exactly one Allocation Constraint must be specified")
	}
	if request.AllocationConstraints[0].ConstraintType != api.AllocationConstraintTypeReserved {
		return badField("constraintType", "only Reserved is supported")
	}
	if !s.config.tenant(request.TenantID) {
		return bad("Could not find Tenant with ID specified in request data")
	}
	if _, err := s.registered(request.SiteID); err != nil {
		return err
	}
	if other, found := s.state.allocations.named(request.TenantID, request.SiteID, request.Name); found {
		return taken("An Allocation with specified name already exists for Tenant", other.id)
	}
	return nil
}

// allocate takes from the provider what the allocation says.
func (s *Server) allocate(a *allocation, now time.Time) error {
	if a.constraint.ResourceType == api.AllocationResourceTypeIPBlock {
		return s.allocateBlock(a, now)
	}
	instanceType, err := s.instanceType(a.constraint.ResourceTypeID)
	switch {
	case err != nil:
		return bad("Could not find Instance Type with ID specified in Allocation Constraint")
	case instanceType.SiteID != a.siteID:
		return bad("Instance Type specified in Allocation Constraint does not belong to Site")
	}
	given := a.constraint.ConstraintValue + instanceType.MaxInstances
	for _, other := range s.state.allocations.Items {
		if other.isMachines(instanceType.ID) {
			given += other.constraint.ConstraintValue
		}
	}
	if given > instanceType.Machines {
		return refuse(http.StatusConflict, "Not enough Machines of Instance Type are available for Allocation")
	}
	return nil
}

// allocateBlock cuts the tenant's block out of the provider's.
func (s *Server) allocateBlock(a *allocation, now time.Time) error {
	parent, found := s.state.ipBlocks.byID(a.constraint.ResourceTypeID)
	switch {
	case !found:
		return bad("Could not find IPBlock with ID specified in Allocation Constraint")
	case parent.tenantID != "" || parent.siteID != a.siteID:
		return bad("IPBlock specified in Allocation Constraint does not belong to provider and Site")
	case a.constraint.ConstraintValue < parent.prefix.Bits() || a.constraint.ConstraintValue > 32:
		return badField("constraintValue", "must be a prefix length between %d and 32", parent.prefix.Bits())
	}
	var used []netip.Prefix
	for _, b := range s.state.ipBlocks.Items {
		if b.siteID == parent.siteID && b.tenantID != "" {
			used = append(used, b.prefix)
		}
	}
	prefix, ok := freePrefix(parent.prefix, a.constraint.ConstraintValue, used)
	if !ok {
		return refuse(http.StatusConflict,
			"Could not create child IPAM entry for Allocation Constraint. Details: no prefix of length %d left in %s",
			a.constraint.ConstraintValue, parent.prefix)
	}
	child := &ipBlock{object: maker{tenantID: a.tenantID}.object(a.siteID, now, 0), prefix: prefix, routing: parent.routing}
	child.name = a.name
	s.state.ipBlocks.Add(child)
	a.derivedID = child.id
	return nil
}

// DeleteAllocation implements the API. The tenant's block is deleted with it.
func (s *Server) DeleteAllocation(
	_ context.Context, r gen.DeleteAllocationRequestObject,
) (gen.DeleteAllocationResponseObject, error) {
	err := s.change(func(now time.Time) error {
		a, err := s.allocation(r.ID)
		if err == nil {
			err = s.checkUnallocated(a)
		}
		if err != nil {
			return err
		}
		if block, found := s.state.ipBlocks.byID(a.derivedID); found {
			block.Delete(now, 0)
		}
		a.Delete(now, 0)
		return nil
	})
	return gen.DeleteAllocation202Response{}, err
}

// checkUnallocated refuses to remove something in use.
func (s *Server) checkUnallocated(a *allocation) error {
	if n := s.state.subnets.Count(func(n *subnet) bool { return n.blockID == a.derivedID }); n > 0 {
		return bad("%d Subnets exist for Allocation", n)
	}
	if n := s.state.prefixes.Count(func(p *prefix) bool { return p.blockID == a.derivedID }); n > 0 {
		return bad("%d VPC Prefixes exist for Allocation", n)
	}
	if a.constraint.ResourceType == api.AllocationResourceTypeInstanceType {
		limit, used := s.quota(a.tenantID, a.constraint.ResourceTypeID)
		if limit.bounded && used > limit.instances-a.constraint.ConstraintValue {
			return bad("Deleting this Allocation would leave some of %d Instances without Allocation", used)
		}
	}
	return nil
}

// allocated reports whether a tenant has been given anything at the site. Server.mu is held.
func (s *Server) allocated(tenantID, siteID string) bool {
	return s.state.ipBlocks.Any(func(b *ipBlock) bool { return b.siteID == siteID && b.tenantID == tenantID }) ||
		s.state.allocations.Any(func(a *allocation) bool { return a.siteID == siteID && a.tenantID == tenantID })
}

func (s *Server) allocationView(a *allocation, now time.Time) api.Allocation {
	return api.Allocation{
		ID: a.id, Name: a.name, Description: a.description, TenantID: a.tenantID, SiteID: a.siteID,
		InfrastructureProviderID: s.config.ProviderID, Status: api.AllocationStatus(a.Status(now)),
		Created: a.Created, Updated: a.Updated(now),
		AllocationConstraints: []api.AllocationConstraint{{
			ID: a.constraintID, AllocationID: a.id, ResourceType: a.constraint.ResourceType,
			ResourceTypeID: a.constraint.ResourceTypeID, ConstraintType: a.constraint.ConstraintType,
			ConstraintValue: a.constraint.ConstraintValue, DerivedResourceID: a.derivedID,
			Created: a.Created, Updated: a.Created,
		}},
	}
}
