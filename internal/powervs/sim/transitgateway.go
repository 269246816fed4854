package sim

import (
	"net/http"
	"regexp"
	"time"
)

// The kinds of Transit Gateway.
const (
	KindTransitGateway Kind = "transitGateway"
	KindConnection     Kind = "transitGatewayConnection"
)

// transitGateways is the API.
type transitGateways struct {
	*service
	gateways    *store[*gateway]
	connections *store[*connection]
}

// TransitGateway connects VPCs and workspaces.
func (c *Cloud) TransitGateway() http.Handler { return c.transit }

func (c *Cloud) newTransitGateways() *transitGateways {
	t := &transitGateways{
		service:  newService(c, "transit", failWithList),
		gateways: newStore[*gateway](c, KindTransitGateway), connections: newStore[*connection](c, KindConnection),
	}
	t.authenticate = func(r *http.Request) error {
		if err := c.authenticate(r); err != nil {
			return err
		}
		if !isVersion(r.URL.Query().Get("version")) {
			return refuse(http.StatusBadRequest, "bad_request", "The version query parameter must be of the form YYYY-MM-DD.")
		}
		return nil
	}
	t.handle("listTransitGateways", "GET /v1/transit_gateways", t.listGateways)
	t.handle("createTransitGateway", "POST /v1/transit_gateways", t.createGateway)
	t.handle("getTransitGateway", "GET /v1/transit_gateways/{id}", t.getGateway)
	t.handle("deleteTransitGateway", "DELETE /v1/transit_gateways/{id}", t.deleteGateway)
	const connections = "/v1/transit_gateways/{gateway}/connections"
	t.handle("listTransitGatewayConnections", "GET "+connections, t.listConnections)
	t.handle("createTransitGatewayConnection", "POST "+connections, t.createConnection)
	t.handle("getTransitGatewayConnection", "GET "+connections+"/{id}", t.getConnection)
	t.handle("deleteTransitGatewayConnection", "DELETE "+connections+"/{id}", t.deleteConnection)
	return t
}

// gateway is a transit gateway.
type gateway struct {
	object
	location, crn string
	// global means that networks of other regions can be connected.
	global bool
	group  ResourceGroup
}

// Status is pending, available, failed or deleting.
func (g *gateway) Status(now time.Time) string { return g.in(availability, now) }

type gatewayRequest struct {
	Name          string       `json:"name"`
	Location      string       `json:"location"`
	Global        bool         `json:"global"`
	ResourceGroup *idReference `json:"resource_group"`
}

// transitName is what names of gateways and connections may be.
var transitName = regexp.MustCompile(`^([a-zA-Z]|[a-zA-Z][-_a-zA-Z0-9]*[a-zA-Z0-9])$`)

func checkTransitName(name string) error {
	if !transitName.MatchString(name) || len(name) > 63 {
		return refuse(http.StatusBadRequest, "bad_request", "The name %q is invalid.", name)
	}
	return nil
}

func (t *transitGateways) listGateways(r *call) (reply, error) {
	return list(r, "transit_gateways", t.gateways.Items, nil, func(g *gateway) doc { return t.gatewayView(g, r.now) })
}

func (t *transitGateways) gatewayOf(id string) (*gateway, error) {
	g, found := t.gateways.byID("", id)
	if !found {
		return nil, refuse(http.StatusNotFound, "not_found", "Cannot find Gateway with id %s", id)
	}
	return g, nil
}

func (t *transitGateways) getGateway(r *call) (reply, error) {
	g, err := t.gatewayOf(r.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(t.gatewayView(g, r.now))
}

// createGateway refuses a name that any other gateway of the account has, wherever that is.
func (t *transitGateways) createGateway(r *call) (reply, error) {
	var request gatewayRequest
	if err := r.into(&request); err != nil {
		return reply{}, err
	}
	if err := checkTransitName(request.Name); err != nil {
		return reply{}, err
	}
	group, err := t.cloud.groupOf(request.ResourceGroup)
	if err != nil {
		return reply{}, err
	}
	inRegion := t.gateways.Count(func(g *gateway) bool { return g.location == request.Location })
	_, known := t.cloud.config.region(request.Location)
	switch limit := t.cloud.config.Quotas.TransitGateways; {
	case !known:
		return reply{}, refuse(http.StatusBadRequest, "bad_request", "The location %q is invalid.", request.Location)
	case t.gateways.Any(func(g *gateway) bool { return g.name == request.Name }):
		return reply{}, refuse(http.StatusConflict, "conflict", "A gateway with the same name already exists.")
	case exceeded(limit, inRegion+1):
		return reply{}, overQuota("quota_exceeded", "transit gateways in the region", limit)
	}
	g := &gateway{
		object:   newObject(r.now, request.Name, "", t.cloud.config.Times.TransitGateway.Duration),
		location: request.Location, global: request.Global, group: group,
	}
	g.crn = t.cloud.crn("transit", g.location, "", "gateway", g.id)
	return reply{status: http.StatusCreated, body: t.gatewayView(add(t.cloud, t.gateways, g), r.now)}, nil
}

// deleteGateway begins a deletion. Connections have to be gone by then.
func (t *transitGateways) deleteGateway(r *call) (reply, error) {
	g, err := t.gatewayOf(r.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	if len(t.connections.within(g.id)) > 0 {
		return reply{}, refuse(http.StatusConflict, "conflict", "The gateway has connections, which have to be deleted first.")
	}
	g.Delete(r.now, t.cloud.config.Times.TransitGatewayDelete.Duration)
	return reply{status: http.StatusNoContent}, nil
}

func (t *transitGateways) gatewayView(g *gateway, now time.Time) doc {
	return doc{
		"id": g.id, "crn": g.crn, "name": g.name, "location": g.location, "global": g.global, "status": g.Status(now),
		"created_at": date(g.Created), "updated_at": date(g.Updated(now)),
		"connection_count": len(t.connections.within(g.id)), "connection_needs_attention": false,
		"resource_group": doc{"id": g.group.ID, "href": "https://resource-manager.cloud.ibm.com/v1/resource_groups/" + g.group.ID},
	}
}
