package sim

import (
	"context"
	"net/http"
	"time"

	"k8s.io/utils/ptr"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// group is a network security group.
type group struct {
	object
	rules    []api.NetworkSecurityGroupRule
	stateful bool
}

// status is Pending until the group is Ready.
func (g *group) Status(now time.Time) string {
	status := g.Life.Status(now)
	if status == string(api.NetworkSecurityGroupStatusProvisioning) {
		return string(api.NetworkSecurityGroupStatusPending)
	}
	return status
}

// ListNetworkSecurityGroups implements the API.
func (s *Server) ListNetworkSecurityGroups(
	_ context.Context, r gen.ListNetworkSecurityGroupsRequestObject,
) (gen.ListNetworkSecurityGroupsResponseObject, error) {
	p := r.Params
	page, header := listOwn(s, &s.state.groups, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, status: p.Status, fullText: p.Query,
	}, asSeen(s.groupView))
	headers := gen.ListNetworkSecurityGroups200ResponseHeaders{XPagination: header}
	return gen.ListNetworkSecurityGroups200JSONResponse{Body: page, Headers: headers}, nil
}

// GetNetworkSecurityGroup implements the API.
func (s *Server) GetNetworkSecurityGroup(
	_ context.Context, r gen.GetNetworkSecurityGroupRequestObject,
) (gen.GetNetworkSecurityGroupResponseObject, error) {
	view, err := show(s, &s.state.groups, r.ID, asSeen(s.groupView))
	return gen.GetNetworkSecurityGroup200JSONResponse(view), err
}

// CreateNetworkSecurityGroup implements the API.
func (s *Server) CreateNetworkSecurityGroup(
	ctx context.Context, r gen.CreateNetworkSecurityGroupRequestObject,
) (gen.CreateNetworkSecurityGroupResponseObject, error) {
	view, err := create(ctx, s, &s.state.groups, s.draftGroup, *r.Body, s.groupView)
	return gen.CreateNetworkSecurityGroup201JSONResponse(view), err
}

func (s *Server) draftGroup(
	m maker, request api.NetworkSecurityGroupCreateRequest, _ time.Time,
) (draft[*group], error) {
	rules, err := checkRules(request.Rules)
	if err != nil {
		return draft[*group]{}, err
	}
	site, err := s.registered(request.SiteID)
	switch {
	case err != nil:
		return draft[*group]{}, err
	case !site.NetworkSecurityGroup:
		return draft[*group]{}, refuse(http.StatusPreconditionFailed, "Site does not have NetworkSecurityGroup capability")
	case !m.world && !s.allocated(m.tenantID, site.ID):
		return draft[*group]{}, refuse(http.StatusForbidden, "Tenant does not have access to Site")
	}
	if other, found := s.state.groups.named(m.tenantID, site.ID, request.Name); found {
		return draft[*group]{}, taken(
			"Network Security Group with name: "+request.Name+" for Site: "+site.ID+" already exists", other.id)
	}
	return draft[*group]{siteID: site.ID, commit: func(now time.Time) (*group, error) {
		g := &group{
			object: m.object(site.ID, now, s.seen(now).Sub(now)),
			rules:  rules, stateful: request.StatefulEgress,
		}
		g.name, g.description, g.labels = request.Name, request.Description, request.Labels
		return g, nil
	}}, nil
}

// UpdateNetworkSecurityGroup implements the API. The rules are replaced as a whole.
func (s *Server) UpdateNetworkSecurityGroup(
	_ context.Context, r gen.UpdateNetworkSecurityGroupRequestObject,
) (gen.UpdateNetworkSecurityGroupResponseObject, error) {
	request := *r.Body
	var rules []api.NetworkSecurityGroupRule
	if request.Rules != nil {
		var err error
		if rules, err = checkRules(*request.Rules); err != nil {
			return nil, err
		}
	}
	var view api.NetworkSecurityGroup
	err := s.alter(func(now time.Time) (string, func(), error) {
		g, err := s.state.groups.get(s.config.Tenant.ID, r.ID)
		if err == nil {
			err = s.state.groups.checkName(g, request.Name)
		}
		if err != nil {
			return "", nil, err
		}
		return g.siteID, func() {
			s.outdate(&g.object, s.groupView(g, now), now)
			g.describe(request.Name, request.Description, request.Labels)
			if request.Rules != nil {
				g.rules = rules
			}
			set(&g.stateful, request.StatefulEgress)
			g.Changed = now
			view = s.groupView(g, now)
		}, nil
	})
	return gen.UpdateNetworkSecurityGroup200JSONResponse(view), err
}

// DeleteNetworkSecurityGroup implements the API.
func (s *Server) DeleteNetworkSecurityGroup(
	_ context.Context, r gen.DeleteNetworkSecurityGroupRequestObject,
) (gen.DeleteNetworkSecurityGroupResponseObject, error) {
	takes := s.config.Times.NetworkSecurityGroupDelete.Duration
	err := remove(s, &s.state.groups, r.ID, takes, func(g *group) error {
		vpcs, instances := s.attached(g.id)
		for _, users := range []struct {
			what  string
			count int
		}{{"VPCs", vpcs}, {"Instances", instances}} {
			if users.count > 0 {
				return refuse(http.StatusPreconditionFailed,
					"Cannot delete NetworkSecurityGroup, one or more %s have attached this Network Security Group",
					users.what)
			}
		}
		return nil
	})
	return gen.DeleteNetworkSecurityGroup202Response{}, err
}

// attached returns how many objects the group is attached to itself. What is Deleting counts.
func (s *Server) attached(id string) (vpcs, instances int) {
	return s.state.vpcs.Count(func(v *vpc) bool { return v.groupID == id }),
		s.state.instances.Count(func(i *instance) bool { return i.groupID == id })
}

// checkGroup checks a group that a request refers to.
func (s *Server) checkGroup(id, tenantID string, site Site) error {
	if id == "" {
		return nil
	}
	if !site.NetworkSecurityGroup {
		return refuse(http.StatusPreconditionFailed, "Site does not have NetworkSecurityGroup capability")
	}
	g, found := s.state.groups.byID(id)
	switch {
	case !found || !g.Deleted.IsZero():
		return bad("Could not find NetworkSecurityGroup with ID specified in request data")
	case g.tenantID != tenantID:
		return refuse(http.StatusForbidden, "NetworkSecurityGroup in request does not belong to Tenant")
	case g.siteID != site.ID:
		return refuse(http.StatusForbidden, "NetworkSecurityGroup in request does not belong to Site")
	}
	return nil
}

// shownDescription is null where there is none, until the site has reported the group.
func (g *group) shownDescription(now time.Time) *string {
	if g.description == "" && g.Status(now) != string(api.NetworkSecurityGroupStatusReady) {
		return nil
	}
	return ptr.To(g.description)
}

func (s *Server) groupView(g *group, now time.Time) api.NetworkSecurityGroup {
	vpcs, instances := s.attached(g.id)
	return api.NetworkSecurityGroup{
		ID: g.id, Name: g.name, Description: g.shownDescription(now), Labels: g.labels, TenantID: g.tenantID, SiteID: g.siteID,
		Status:         api.NetworkSecurityGroupStatus(g.Status(now)),
		StatefulEgress: g.stateful, Rules: g.rules, RuleCount: len(g.rules),
		AttachmentStats: api.NetworkSecurityGroupAttachmentStats{
			InUse: vpcs+instances > 0, TotalDirectAttachmentCount: vpcs + instances,
			DirectVPCAttachmentCount: vpcs, DirectInstanceAttachmentCount: instances,
		},
		Created: g.Created, Updated: g.Updated(now),
	}
}

// attachment is the group of a VPC or an instance.
type attachment struct {
	groupID string
	// since is when the group was attached, or the last one detached.
	since time.Time
	// sent is when a client named it last.
	sent time.Time
}

func (a *attachment) attach(groupID string, now time.Time) {
	if a.groupID != groupID {
		a.groupID, a.since = groupID, now
	}
	a.sent = now
}

// propagation of a group that an inventory has found on the instances of an object. It is only as new as that, and a
// change of the group removes it until the next one.
func (s *Server) propagation(a attachment, objectID string, now time.Time) api.NetworkSecurityGroupPropagationDetails {
	inventory := s.inventory(now)
	if a.groupID == "" || a.since.After(inventory) || a.sent.After(s.heard(inventory)) {
		return api.NetworkSecurityGroupPropagationDetails{}
	}
	return api.NetworkSecurityGroupPropagationDetails{
		ObjectID: objectID, Status: api.NetworkSecurityGroupPropagationStatusSynchronized,
		DetailedStatus: api.NetworkSecurityGroupPropagationDetailsDetailedStatusFull,
	}
}

// vpcPropagation is that of the VPC's group on the instances that have no group of their own.
func (s *Server) vpcPropagation(v *vpc, now time.Time) api.NetworkSecurityGroupPropagationDetails {
	inventory := s.inventory(now)
	if v.enforced(inventory) == "" || !s.state.instances.Any(func(i *instance) bool {
		return i.isIn(v.id) && i.groupID == "" && i.Deleted.IsZero() && !i.Created.After(inventory)
	}) {
		return api.NetworkSecurityGroupPropagationDetails{}
	}
	return s.propagation(v.attachment, v.id, now)
}
