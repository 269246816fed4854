package sim

import (
	"context"
	"net/http"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// ListInstanceTypes implements the API.
func (s *Server) ListInstanceTypes(
	_ context.Context, r gen.ListInstanceTypesRequestObject,
) (gen.ListInstanceTypesResponseObject, error) {
	p := r.Params
	page, header := pageOf(s.config.InstanceTypes, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, status: p.Status, fullText: p.Query,
	}, s.instanceTypeView, func(v api.InstanceType) row {
		return row{id: v.ID, name: v.Name, status: string(v.Status), siteID: v.SiteID, created: v.Created}
	})
	headers := gen.ListInstanceTypes200ResponseHeaders{XPagination: header}
	return gen.ListInstanceTypes200JSONResponse{Body: page, Headers: headers}, nil
}

// GetInstanceType implements the API.
func (s *Server) GetInstanceType(
	_ context.Context, r gen.GetInstanceTypeRequestObject,
) (gen.GetInstanceTypeResponseObject, error) {
	instanceType, err := s.instanceType(r.ID)
	if err != nil {
		return nil, err
	}
	return gen.GetInstanceType200JSONResponse(s.instanceTypeView(instanceType)), nil
}

func (s *Server) instanceType(id string) (InstanceType, error) {
	instanceType, found := byID(s.config.InstanceTypes, func(t InstanceType) string { return t.ID }, id)
	if !found {
		return instanceType, refuse(http.StatusNotFound, "Could not find Instance Type with specified ID")
	}
	return instanceType, nil
}

// quota is what a tenant has been given of an instance type.
type quota struct {
	// given is false if that is nothing at all.
	given bool
	// bounded is false if only the machines limit it.
	bounded   bool
	instances int
}

// quota returns what a tenant may have of a type, and how many instances it has. Server.mu is held.
func (s *Server) quota(tenantID, typeID string) (limit quota, used int) {
	instanceType, _ := s.instanceType(typeID)
	if tenantID == s.config.Tenant.ID && !instanceType.Unallocated {
		limit = quota{given: true, bounded: instanceType.MaxInstances > 0, instances: instanceType.MaxInstances}
	} else {
		limit.bounded = true
	}
	for _, a := range s.state.allocations.Items {
		if a.tenantID == tenantID && a.isMachines(typeID) {
			limit.given = true
			limit.instances += a.constraint.ConstraintValue
		}
	}
	return limit, s.state.instances.Count(func(i *instance) bool {
		return i.tenantID == tenantID && i.machine.typeID == typeID
	})
}

func (s *Server) instanceTypeView(t InstanceType) api.InstanceType {
	view := api.InstanceType{
		ID: t.ID, Name: t.Name, SiteID: t.SiteID, Status: api.InstanceTypeStatusReady,
		MachineCapabilities: t.Capabilities, Created: s.state.started, Updated: s.state.started,
	}
	s.view(func(now time.Time) {
		limit, used := s.quota(s.config.Tenant.ID, t.ID)
		if !limit.bounded {
			limit.instances = t.Machines
		}
		unused := max(limit.instances-used, 0)
		view.AllocationStats = api.AllocationStats{
			Total: limit.instances, Used: used, Unused: unused, UnusedUsable: min(unused, len(s.freeMachines(t.ID, now))),
		}
	})
	return view
}
