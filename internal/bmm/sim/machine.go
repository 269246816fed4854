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
	var all []api.InstanceType
	for _, instanceType := range s.config.InstanceTypes {
		all = append(all, s.instanceTypeView(instanceType))
	}
	p := r.Params
	page, header := selectPage(all, func(v api.InstanceType) row {
		return row{id: v.ID, name: v.Name, status: string(v.Status), siteID: v.SiteID, created: v.Created}
	}, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, status: p.Status, fullText: p.Query,
	})
	headers := gen.ListInstanceTypes200ResponseHeaders{XPagination: header}
	return gen.ListInstanceTypes200JSONResponse{Body: page, Headers: headers}, nil
}

// GetInstanceType implements the API.
func (s *Server) GetInstanceType(
	_ context.Context, r gen.GetInstanceTypeRequestObject,
) (gen.GetInstanceTypeResponseObject, error) {
	instanceType, err := s.instanceType(r.ID)
	return gen.GetInstanceType200JSONResponse(s.instanceTypeView(instanceType)), err
}

func (s *Server) instanceType(id string) (InstanceType, error) {
	for _, instanceType := range s.config.InstanceTypes {
		if instanceType.ID == id {
			return instanceType, nil
		}
	}
	return InstanceType{}, refuse(http.StatusNotFound, "Could not find Instance Type with specified ID")
}

func (s *Server) instanceTypeView(t InstanceType) api.InstanceType {
	return api.InstanceType{ID: t.ID, Name: t.Name, SiteID: t.SiteID, Status: api.InstanceTypeStatusReady,
		Created: s.state.started, Updated: s.state.started}
}

// ListMachines implements the API.
func (s *Server) ListMachines(
	_ context.Context, r gen.ListMachinesRequestObject,
) (gen.ListMachinesResponseObject, error) {
	var all []api.Machine
	s.view(func(time.Time) {
		for _, m := range s.state.machines {
			all = append(all, s.machineView(m))
		}
	})
	p := r.Params
	page, header := selectPage(all, func(v api.Machine) row {
		return row{id: v.ID, name: v.ID, status: string(v.Status), siteID: v.SiteID, created: v.Created}
	}, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, status: p.Status, fullText: p.Query,
	})
	headers := gen.ListMachines200ResponseHeaders{XPagination: header}
	return gen.ListMachines200JSONResponse{Body: page, Headers: headers}, nil
}

// GetMachine implements the API.
func (s *Server) GetMachine(_ context.Context, r gen.GetMachineRequestObject) (gen.GetMachineResponseObject, error) {
	var view api.Machine
	err := s.change(func(time.Time) error {
		m := s.machine(r.MachineID)
		if m == nil {
			return refuse(http.StatusNotFound, "Could not find Machine with specified ID")
		}
		view = s.machineView(m)
		return nil
	})
	return gen.GetMachine200JSONResponse(view), err
}

func (s *Server) machine(id string) *machine {
	return find(s.state.machines, func(m *machine) bool { return m.id == id })
}

// user returns the instance that the machine is in use for, or nil.
func (s *Server) user(m *machine) *instance {
	return find(s.state.instances, func(i *instance) bool { return i.machine == m })
}

func (s *Server) machineView(m *machine) api.Machine {
	view := api.Machine{ID: m.id, SiteID: m.siteID, InstanceTypeID: m.typeID, IsUsableByTenant: true,
		Status: api.MachineStatusReady, Created: s.state.started, Updated: s.state.started}
	if user := s.user(m); user != nil {
		view.Status, view.InstanceID = api.MachineStatusInUse, user.id
	}
	return view
}

// takeMachine returns the machine that a request asks for, or a free one of the type that it asks for.
func (s *Server) takeMachine(request api.InstanceCreateRequest) (*machine, error) {
	if request.MachineID != "" {
		m := s.machine(request.MachineID)
		switch {
		case m == nil:
			return nil, refuse(http.StatusBadRequest, "Could not find Machine with ID specified in request data")
		case s.user(m) != nil:
			return nil, refuse(http.StatusBadRequest,
				"Machine: %s is assigned to an Instance, cannot be used for new Instance", m.id)
		}
		return m, nil
	}
	instanceType, err := s.instanceType(request.InstanceTypeID)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "Could not find Instance Type with ID specified in request data")
	}
	instances := 0
	for _, i := range s.state.instances {
		if i.machine.typeID == instanceType.ID {
			instances++
		}
	}
	if instanceType.MaxInstances > 0 && instances >= instanceType.MaxInstances {
		return nil, refuse(http.StatusForbidden,
			"Tenant has reached the maximum number of Instances for Instance Type specified in request data")
	}
	m := find(s.state.machines, func(m *machine) bool { return m.typeID == instanceType.ID && s.user(m) == nil })
	if m == nil {
		return nil, refuse(http.StatusBadRequest, "No Machines are available for specified Instance Type")
	}
	return m, nil
}
