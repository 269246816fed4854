package sim

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

type instance struct {
	life
	power
	id, siteID string
	machine    *machine
	interfaces []nic
	request    api.InstanceCreateRequest
}

type nic struct {
	id, subnetID string
	physical     bool
	address      netip.Addr
}

// gone is stricter than for other objects: the machine must be off.
func (i *instance) gone(now time.Time) bool { return i.life.gone(now) && !i.booted }

func (i *instance) uses(subnetID string) bool {
	return slices.ContainsFunc(i.interfaces, func(n nic) bool { return n.subnetID == subnetID })
}

func (i *instance) status(now time.Time) api.InstanceStatus {
	switch status := i.life.status(now); {
	case status == "Deleting":
		return api.InstanceStatusTerminating
	case i.failed:
		return api.InstanceStatusError
	default:
		return api.InstanceStatus(status)
	}
}

// ListInstances implements the API.
func (s *Server) ListInstances(
	_ context.Context, r gen.ListInstancesRequestObject,
) (gen.ListInstancesResponseObject, error) {
	var all []api.Instance
	s.view(func(now time.Time) {
		for _, i := range s.state.instances {
			all = append(all, s.instanceView(i, now))
		}
	})
	p := r.Params
	page, header := selectPage(all, func(v api.Instance) row {
		return row{
			id: v.ID, name: v.Name, status: string(v.Status), siteID: v.SiteID, vpcID: v.VPCID,
			labels: v.Labels, created: v.Created,
		}
	}, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, vpcID: p.VPCID, status: p.Status, fullText: p.Query, name: p.Name,
	})
	headers := gen.ListInstances200ResponseHeaders{XPagination: header}
	return gen.ListInstances200JSONResponse{Body: page, Headers: headers}, nil
}

// GetInstance implements the API.
func (s *Server) GetInstance(_ context.Context, r gen.GetInstanceRequestObject) (gen.GetInstanceResponseObject, error) {
	var view api.Instance
	err := s.change(func(now time.Time) error {
		i, err := s.instance(r.ID)
		if err == nil {
			view = s.instanceView(i, now)
		}
		return err
	})
	return gen.GetInstance200JSONResponse(view), err
}

// CreateInstance implements the API. Like the real service it checks, waits for the site, and commits without
// checking the name again. It commits also when the client is gone by then.
func (s *Server) CreateInstance(
	_ context.Context, r gen.CreateInstanceRequestObject,
) (gen.CreateInstanceResponseObject, error) {
	request := *r.Body
	userData, err := phoneHome(request)
	if err != nil {
		return nil, err
	}
	request.UserData = userData
	if err := s.change(func(now time.Time) error { return s.checkInstance(request, now) }); err != nil {
		return nil, err
	}
	if err := s.wait(s.config.Times.Create.Duration); err != nil {
		return nil, err
	}
	var view api.Instance
	err = s.change(func(now time.Time) error {
		i, err := s.newInstance(request, now)
		if err == nil {
			view = s.instanceView(i, now)
		}
		return err
	})
	return gen.CreateInstance201JSONResponse(view), err
}

func (s *Server) checkInstance(request api.InstanceCreateRequest, now time.Time) error {
	if request.TenantID != "" && request.TenantID != s.config.Tenant.ID {
		return refuse(http.StatusBadRequest, "TenantID in request is not valid")
	}
	if (request.InstanceTypeID == "") == (request.MachineID == "") {
		return refuse(http.StatusBadRequest, "exactly one of `instanceTypeId` and `machineId` must be specified")
	}
	if request.OperatingSystemID == "" && request.IpxeScript == "" {
		return refuse(http.StatusBadRequest, "either `operatingSystemId` or `ipxeScript` must be specified")
	}
	v, err := s.readyVPC(request.VPCID, now)
	if err != nil {
		return err
	}
	for _, wanted := range request.Interfaces {
		if err := s.checkInterface(wanted, v, now); err != nil {
			return err
		}
	}
	for _, id := range request.SSHKeyGroupIDs {
		if _, err := s.sshKeyGroup(id); err != nil {
			return refuse(http.StatusBadRequest, "Could not find SSH Key Group with ID: %s specified in request", id)
		}
	}
	if other := find(s.state.instances, func(i *instance) bool {
		return i.request.Name == request.Name && i.siteID == v.request.SiteID
	}); other != nil {
		return nameTaken("An Instance", other.id)
	}
	_, err = s.takeMachine(request)
	return err
}

func (s *Server) checkInterface(wanted api.InterfaceCreateRequest, v *vpc, now time.Time) error {
	switch {
	case wanted.VPCPrefixID != "":
		return refuse(http.StatusBadRequest, "VPC Prefix: %s specified in request data is not found in DB", wanted.VPCPrefixID)
	case wanted.SubnetID == "":
		return refuse(http.StatusBadRequest, "either `subnetId` or `vpcPrefixId` must be specified")
	case wanted.IPAddress != "":
		return refuse(http.StatusBadRequest, "`ipAddress` cannot be specified for Subnet based Interfaces")
	}
	n, err := s.subnet(wanted.SubnetID)
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest, "Subnet: %s specified in request data is not found in DB", wanted.SubnetID)
	case n.status(now) != "Ready":
		return refuse(http.StatusBadRequest, "Subnet: %s specified in request data is not in Ready state", n.id)
	case n.request.VPCID != v.id:
		return refuse(http.StatusBadRequest, "Subnet: %s specified in request does not match with VPC", n.id)
	}
	return nil
}

// newInstance takes a machine and addresses and starts provisioning.
func (s *Server) newInstance(request api.InstanceCreateRequest, now time.Time) (*instance, error) {
	m, err := s.takeMachine(request)
	if err != nil {
		return nil, err
	}
	interfaces, err := s.newInterfaces(request.Interfaces)
	if err != nil {
		return nil, err
	}
	spread := s.config.Times.InstanceMax.Duration - s.config.Times.InstanceMin.Duration
	takes := s.config.Times.InstanceMin.Duration + time.Duration(s.state.random.Float64()*float64(spread))
	i := &instance{
		life: newLife(now, takes), id: uuid.NewString(), siteID: m.siteID,
		machine: m, interfaces: interfaces, request: request,
	}
	s.state.instances = append(s.state.instances, i)
	s.schedulePowerOn(i, takes)
	return i, nil
}

func (s *Server) newInterfaces(requests []api.InterfaceCreateRequest) ([]nic, error) {
	used := s.usedAddresses()
	physical := slices.ContainsFunc(requests, func(r api.InterfaceCreateRequest) bool { return r.IsPhysical })
	var interfaces []nic
	for number, wanted := range requests {
		n, err := s.subnet(wanted.SubnetID)
		if err != nil { // deleted while the create waited
			return nil, refuse(http.StatusBadRequest, "Subnet: %s specified in request data is not found in DB", wanted.SubnetID)
		}
		address, ok := freeAddress(n.prefix, used)
		if !ok {
			return nil, refuse(http.StatusBadRequest,
				"Could not create IPAM entry for Interface. Details: no address left in %s", n.prefix)
		}
		used[address] = true
		interfaces = append(interfaces, nic{id: uuid.NewString(), subnetID: n.id, address: address,
			physical: wanted.IsPhysical || (!physical && number == 0)})
	}
	return interfaces, nil
}

// DeleteInstance implements the API.
func (s *Server) DeleteInstance(
	_ context.Context, r gen.DeleteInstanceRequestObject,
) (gen.DeleteInstanceResponseObject, error) {
	err := s.change(func(now time.Time) error {
		i, err := s.instance(r.ID)
		if err != nil {
			return err
		}
		i.delete(now, s.config.Times.InstanceDelete.Duration)
		s.schedulePowerOff(i)
		return nil
	})
	return gen.DeleteInstance202Response{}, err
}

func (s *Server) instance(id string) (*instance, error) {
	if i := find(s.state.instances, func(i *instance) bool { return i.id == id }); i != nil {
		return i, nil
	}
	return nil, refuse(http.StatusNotFound, "Could not find Instance with specified ID")
}

func (s *Server) instanceView(i *instance, now time.Time) api.Instance {
	view := api.Instance{
		ID: i.id, Name: i.request.Name, Description: i.request.Description, Labels: i.request.Labels,
		TenantID: s.config.Tenant.ID, SiteID: i.siteID, VPCID: i.request.VPCID,
		InstanceTypeID: i.machine.typeID, MachineID: i.machine.id,
		OperatingSystemID: i.request.OperatingSystemID, IpxeScript: i.request.IpxeScript,
		AlwaysBootWithCustomIpxe: i.request.AlwaysBootWithCustomIpxe, PhoneHomeEnabled: wantsPhoneHome(i.request),
		UserData: i.request.UserData, SSHKeyGroupIDs: i.request.SSHKeyGroupIDs,
		Status: i.status(now), Created: i.created, Updated: i.updated(now),
	}
	for number, n := range i.interfaces {
		nicView := api.Interface{ID: n.id, InstanceID: i.id, SubnetID: n.subnetID, IsPhysical: n.physical, Status: "Pending"}
		if !now.Before(i.ready) {
			nicView.Status, nicView.IPAddresses = "Ready", []string{n.address.String()}
			nicView.MacAddress = fmt.Sprintf("02:00:00:%02x:%02x:%02x", i.machine.number>>8&0xff, i.machine.number&0xff, number)
		}
		view.Interfaces = append(view.Interfaces, nicView)
	}
	return view
}
