package sim

import (
	"net/http"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

func (s *Server) draftInstance(m maker, request api.InstanceCreateRequest, now time.Time) (draft[*instance], error) {
	order, err := s.order(m, request, 1, now)
	return draft[*instance]{siteID: order.siteID, lock: typeLock(m, request.InstanceTypeID), commit: func(now time.Time) (*instance, error) {
		machines, err := s.takeMachines(m, order.request, order.siteID, 1, now)
		if err != nil {
			return nil, err
		}
		i, err := s.newInstance(m, order, machines[0], now)
		if err == nil {
			s.schedulePowerOn(i, i.Ready.Sub(now))
		}
		return i, err
	}}, err
}

// typeLock serialises creates of the same type by the same tenant; one on a machine that the request names takes none.
func typeLock(m maker, typeID string) lock {
	if typeID == "" {
		return lock{}
	}
	return lock{what: "Instance Type", id: typeID, tenantID: m.tenantID}
}

// order is a request that has been checked.
type order struct {
	siteID  string
	request api.InstanceCreateRequest
}

// order checks a request for a number of instances that differ in their names only.
func (s *Server) order(m maker, request api.InstanceCreateRequest, instances int, now time.Time) (order, error) {
	request, err := s.dialect().readInstance(request)
	if err == nil {
		err = s.checkRequest(m, request)
	}
	if err != nil {
		return order{}, err
	}
	if request.UserData, err = keptUserData(request); err != nil {
		return order{}, err
	}
	v, err := s.readyVPC(request.VPCID, m.tenantID, now)
	if err != nil {
		return order{}, err
	}
	if err := s.checkInstanceName(m, request.Name, v.siteID); err != nil {
		return order{}, err
	}
	if err := s.checkReferences(m, request, v); err != nil {
		return order{}, err
	}
	if err := s.checkInterfaces(request, v, now); err != nil {
		return order{}, err
	}
	machines, err := s.takeMachines(m, request, v.siteID, instances, now)
	if err != nil {
		return order{}, err
	}
	capabilities := s.capabilities(machines[0].typeID)
	if err := checkDevices(request.Interfaces, capabilities); err != nil {
		return order{}, err
	}
	if err := s.checkInfiniBand(m, request.InfiniBandInterfaces, capabilities, v.siteID); err != nil {
		return order{}, err
	}
	request.NVLinkInterfaces, err = s.nvLinks(m, request.NVLinkInterfaces, capabilities, v)
	return order{siteID: v.siteID, request: request}, err
}

// checkRequest checks what can be seen from the request alone, and its sender.
func (s *Server) checkRequest(m maker, request api.InstanceCreateRequest) error {
	tenant, _ := byID(append(s.config.OtherTenants, s.config.Tenant), func(t Tenant) string { return t.ID }, m.tenantID)
	switch {
	case request.TenantID != "" && request.TenantID != m.tenantID:
		return bad("TenantID in request is not valid")
	case (request.InstanceTypeID == "") == (request.MachineID == ""):
		return badField("instanceTypeId", "exactly one of `instanceTypeId` and `machineId` must be specified")
	case request.MachineID != "" && !tenant.TargetedInstanceCreation:
		return refuse(http.StatusForbidden, "Tenant does not have capability to create Instances on specific Machines")
	case request.AllowUnhealthyMachine && request.MachineID == "":
		return badField("allowUnhealthyMachine", "can only be specified with `machineId`")
	case request.AlwaysBootWithCustomIpxe && request.IpxeScript == "" && request.OperatingSystemID == "":
		return badField("ipxeScript", "must be specified if `alwaysBootWithCustomIpxe` is true")
	}
	return s.checkSystem(request)
}

func (s *Server) checkInstanceName(m maker, name, siteID string) error {
	if other, found := s.state.instances.named(m.tenantID, siteID, name); found {
		return nameTaken("An Instance", other.id)
	}
	return nil
}

// checkReferences checks what a request refers to, but for networks and machines.
func (s *Server) checkReferences(m maker, request api.InstanceCreateRequest, v *vpc) error {
	for _, id := range request.SSHKeyGroupIDs {
		if _, found := s.sshKeyGroup(id); !found {
			return bad("Could not find SSH Key Group with ID: %s specified in request", id)
		}
	}
	site, _ := s.site(v.siteID) // sites don't go
	if err := s.checkGroup(request.NetworkSecurityGroupID, m.tenantID, site); err != nil {
		return err
	}
	return s.checkDeployments(request.DPUExtensionServiceDeployments, v.siteID)
}

// newInstance takes addresses and starts provisioning. The names were checked before the site did its part.
func (s *Server) newInstance(m maker, o order, on *machine, now time.Time) (*instance, error) {
	if _, err := s.readyVPC(o.request.VPCID, m.tenantID, now); err != nil { // deleted meanwhile
		return nil, err
	}
	interfaces, err := s.newInterfaces(o.request.Interfaces, o.siteID)
	if err != nil {
		return nil, err
	}
	times := s.config.Times
	i := &instance{
		object:  m.object(o.siteID, now, s.state.between(times.InstanceMin.Duration, times.InstanceMax.Duration)),
		machine: on, interfaces: interfaces, request: o.request,
	}
	i.name, i.description, i.labels, i.vpcID = o.request.Name, o.request.Description, o.request.Labels, o.request.VPCID
	i.attach(o.request.NetworkSecurityGroupID, now)
	s.lag(i, now)
	if times.Freeze.Duration == 0 && i.fresh.After(i.Ready) {
		i.fresh = i.Ready // its being ready is news that comes by itself
	}
	return i, nil
}
