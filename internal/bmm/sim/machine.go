package sim

import (
	"context"
	"net/http"
	"slices"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
	"github.com/bedplate/bedplate/internal/simulator"
)

// machine can have one instance at a time. Its life is that of the world: only its status can be forced.
type machine struct {
	simulator.Life
	id, siteID, typeID string
	number             int
	alerts             []api.MachineHealthProbeAlert
}

// ListMachines implements the API.
func (s *Server) ListMachines(
	_ context.Context, r gen.ListMachinesRequestObject,
) (gen.ListMachinesResponseObject, error) {
	var all []api.Machine
	s.view(func(now time.Time) {
		for _, m := range s.state.machines {
			all = append(all, s.machineView(m, now))
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
	err := s.change(func(now time.Time) error {
		m, found := s.machine(r.MachineID)
		if !found {
			return refuse(http.StatusNotFound, "Could not find Machine with specified ID")
		}
		view = s.machineView(m, now)
		return nil
	})
	return gen.GetMachine200JSONResponse(view), err
}

func (s *Server) machine(id string) (*machine, bool) {
	return byID(s.state.machines, func(m *machine) string { return m.id }, id)
}

// user returns the instance that the machine is in use for, or nil.
func (s *Server) user(m *machine) *instance {
	all := s.state.onMachines()
	if n := slices.IndexFunc(all, func(i *instance) bool { return i.machine == m }); n >= 0 {
		return all[n]
	}
	return nil
}

func (s *Server) machineStatus(m *machine, now time.Time) api.MachineStatus {
	if m.Forced != "" {
		return api.MachineStatus(m.Status(now))
	}
	if s.user(m) != nil {
		return api.MachineStatusInUse
	}
	return api.MachineStatusReady
}

func (s *Server) freeMachines(typeID string, now time.Time) []*machine {
	used := make(map[*machine]bool, len(s.state.instances.Items)) // a search for the user of each would take too long
	for _, i := range s.state.onMachines() {
		used[i.machine] = true
	}
	var free []*machine
	for _, m := range s.state.machines {
		if m.typeID == typeID && !used[m] && !m.unusable(now) {
			free = append(free, m)
		}
	}
	return free
}

// unusable is a machine that was taken out of use.
func (m *machine) unusable(now time.Time) bool {
	return m.Forced != "" && m.Status(now) != string(api.MachineStatusReady)
}

func (s *Server) machineView(m *machine, now time.Time) api.Machine {
	instanceType, _ := s.instanceType(m.typeID) // of the world, like the machine
	status := s.machineStatus(m, now)
	view := api.Machine{
		ID: m.id, SiteID: m.siteID, InstanceTypeID: m.typeID, Status: status,
		IsUsableByTenant:    status == api.MachineStatusReady || status == api.MachineStatusInUse,
		MachineCapabilities: instanceType.Capabilities,
		Health: api.MachineHealth{
			Alerts: m.alerts, ObservedAt: now.UTC().Format(time.RFC3339), Source: "simulator",
		},
		Created: s.state.started, Updated: m.Updated(now),
	}
	if status != api.MachineStatusReady && status != api.MachineStatusInUse {
		view.MaintenanceMessage = m.Reason
	}
	if user := s.user(m); user != nil {
		view.InstanceID, view.TenantID = user.id, user.tenantID
	}
	return view
}

// takeMachines returns the machine that a request asks for, or free ones of the type that it asks for.
func (s *Server) takeMachines(
	m maker, request api.InstanceCreateRequest, siteID string, number int, now time.Time,
) ([]*machine, error) {
	if request.MachineID != "" {
		target, err := s.targetedMachine(request, siteID, now)
		return []*machine{target}, err
	}
	instanceType, err := s.instanceType(request.InstanceTypeID)
	switch {
	case err != nil:
		return nil, bad("Could not find Instance Type with ID specified in request data")
	case instanceType.SiteID != siteID:
		return nil, bad("Instance Type specified in request data does not belong to the same Site as VPC")
	}
	switch limit, used := s.quota(m.tenantID, instanceType.ID); {
	case m.world:
	case !limit.given:
		return nil, refuse(http.StatusInternalServerError,
			"No Allocations for specified Instance Type were found for current Tenant")
	case limit.bounded && used+number > limit.instances:
		return nil, refuse(http.StatusForbidden,
			"Tenant has reached the maximum number of Instances for Instance Type specified in request data")
	}
	free := s.freeMachines(instanceType.ID, now)
	if len(free) < number {
		return nil, bad("No Machines are available for specified Instance Type")
	}
	return free[:number], nil
}

// targetedMachine returns the machine that a request names.
func (s *Server) targetedMachine(request api.InstanceCreateRequest, siteID string, now time.Time) (*machine, error) {
	m, found := s.machine(request.MachineID)
	switch {
	case !found:
		return nil, bad("Could not find Machine with ID specified in request data")
	case m.siteID != siteID:
		return nil, bad("Machine: %s does not belong to the same Site as VPC specified in request data", m.id)
	case s.user(m) != nil:
		return nil, bad("Machine: %s is assigned to an Instance, cannot be used for new Instance", m.id)
	case s.machineStatus(m, now) != api.MachineStatusReady && !request.AllowUnhealthyMachine:
		return nil, bad("Machine: %s is in %s status, it can be provisioned by setting `allowUnhealthyMachine` to true",
			m.id, s.machineStatus(m, now))
	}
	return m, nil
}
