package sim

import (
	"context"
	"net/http"
	"slices"
	"time"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

type instance struct {
	object
	power
	attachment
	machine    *machine
	interfaces []nic
	request    api.InstanceCreateRequest
	// rebooting is when the last reboot ends.
	rebooting time.Time
	// Until fresh, the inventory of the site hasn't come, and the status is still stale.
	stale string
	fresh time.Time
}

// gone is stricter than for other objects: the machine must be off.
func (i *instance) Gone(now time.Time) bool { return i.Life.Gone(now) && !i.booted }

func (i *instance) uses(networkID string) bool {
	return slices.ContainsFunc(i.interfaces, func(n nic) bool { return n.networkID() == networkID })
}

func (i *instance) isIn(vpcID string) bool {
	return i.vpcID == vpcID || slices.Contains(i.request.SecondaryVPCIDs, vpcID)
}

func (i *instance) Status(now time.Time) string {
	status := i.Life.Status(now)
	switch {
	case !i.Deleted.IsZero():
		return string(api.InstanceStatusTerminating)
	case now.Before(i.fresh):
		return i.stale
	case status == string(api.InstanceStatusReady) && now.Before(i.rebooting):
		return string(api.InstanceStatusRebooting)
	}
	return status
}

// lag lets the status stay what it is until the next inventory.
func (s *Server) lag(i *instance, now time.Time) {
	lag := s.config.Times.Freeze.Duration
	if lag == 0 {
		lag = s.state.between(0, s.config.Times.InventoryLag.Duration)
	}
	i.stale, i.fresh = i.Status(now), now.Add(lag)
}

// ListInstances implements the API.
func (s *Server) ListInstances(
	_ context.Context, r gen.ListInstancesRequestObject,
) (gen.ListInstancesResponseObject, error) {
	p := r.Params
	page, header := listOwn(s, &s.state.instances, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, vpcID: p.VPCID, status: p.Status, fullText: p.Query, name: p.Name,
	}, asSeen(s.instanceView))
	headers := gen.ListInstances200ResponseHeaders{XPagination: header}
	return gen.ListInstances200JSONResponse{Body: page, Headers: headers}, nil
}

// GetInstance implements the API.
func (s *Server) GetInstance(_ context.Context, r gen.GetInstanceRequestObject) (gen.GetInstanceResponseObject, error) {
	view, err := show(s, &s.state.instances, r.ID, asSeen(s.instanceView))
	return gen.GetInstance200JSONResponse(view), err
}

// CreateInstance implements the API.
func (s *Server) CreateInstance(
	ctx context.Context, r gen.CreateInstanceRequestObject,
) (gen.CreateInstanceResponseObject, error) {
	if err := s.readBesides(ctx); err != nil {
		return nil, err
	}
	view, err := create(ctx, s, &s.state.instances, s.draftInstance, *r.Body, s.instanceView)
	return gen.CreateInstance201JSONResponse(view), err
}

// UpdateInstance implements the API.
func (s *Server) UpdateInstance(
	_ context.Context, r gen.UpdateInstanceRequestObject,
) (gen.UpdateInstanceResponseObject, error) {
	request := *r.Body
	var view api.Instance
	err := s.alter(func(now time.Time) (string, func(), error) {
		i, err := s.state.instances.get(s.config.Tenant.ID, r.ID)
		if err == nil {
			err = s.checkUpdate(i, request)
		}
		if err != nil {
			return "", nil, err
		}
		return i.siteID, func() {
			s.outdate(&i.object, s.instanceView(i, now), now)
			s.lag(i, now)
			i.describe(request.Name, request.Description, request.Labels)
			if request.NetworkSecurityGroupID != nil {
				i.attach(*request.NetworkSecurityGroupID, now)
			}
			if request.TriggerReboot {
				i.rebooting = i.fresh.Add(s.config.Times.Reboot.Duration)
			}
			i.Changed = now
			view = s.instanceView(i, now)
		}, nil
	})
	return gen.UpdateInstance200JSONResponse(view), err
}

func (s *Server) checkUpdate(i *instance, request api.InstanceUpdateRequest) error {
	changes := request.Name != "" || request.Description != nil || request.Labels != nil ||
		request.NetworkSecurityGroupID != nil
	switch {
	case !i.Deleted.IsZero():
		return refuse(http.StatusConflict, "Instance is terminating and cannot be updated")
	case request.TriggerReboot && changes:
		return badField("triggerReboot", "cannot be specified together with other changes")
	}
	if err := s.state.instances.checkName(i, request.Name); err != nil {
		return err
	}
	if request.NetworkSecurityGroupID == nil {
		return nil
	}
	site, _ := s.site(i.siteID) // sites don't go
	return s.checkGroup(*request.NetworkSecurityGroupID, i.tenantID, site)
}

// Release is an accepted DELETE of an instance, as its client asked for it.
type Release struct {
	InstanceID string `json:"instanceId"`
	MachineID  string `json:"machineId"`
	api.InstanceDeleteRequest
}

// DeleteInstance implements the API. A machine that its user says is ill gets no instances any more.
func (s *Server) DeleteInstance(
	_ context.Context, r gen.DeleteInstanceRequestObject,
) (gen.DeleteInstanceResponseObject, error) {
	err := s.alter(func(now time.Time) (string, func(), error) {
		i, err := s.state.instances.get(s.config.Tenant.ID, r.ID)
		if err == nil && r.Body.IsRepairTenant {
			err = refuse(http.StatusForbidden, "Tenant does not have capability to repair Machines")
		}
		if err != nil {
			return "", nil, err
		}
		return i.siteID, func() {
			s.state.releases = append(s.state.releases, Release{
				InstanceID: i.id, MachineID: i.machine.id, InstanceDeleteRequest: *r.Body,
			})
			if issue := r.Body.MachineHealthIssue; issue != nil {
				i.machine.ill(*issue, now)
			}
			i.Delete(now, s.config.Times.InstanceDelete.Duration)
			s.schedulePowerOff(i)
		}, nil
	})
	return gen.DeleteInstance202Response{}, err
}

// ill takes the machine out of use.
func (m *machine) ill(issue api.MachineHealthIssue, now time.Time) {
	m.Force(now, string(api.MachineStatusMaintenance), issue.Summary)
	m.alerts = []api.MachineHealthProbeAlert{{
		ID: "TenantReportedIssue", Target: string(issue.Category), Message: issue.Summary, TenantMessage: issue.Details,
		InAlertSince: now.UTC().Format(time.RFC3339), Classifications: []string{"PreventAllocations"},
	}}
}
