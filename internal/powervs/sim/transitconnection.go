package sim

import (
	"net/http"
	"time"
)

// connection connects a network with a gateway.
type connection struct {
	object
	gateway *gateway
	network attachable
}

// Status is pending, attached, failed, deleting, or detached where the network is gone.
func (c *connection) Status(now time.Time) string {
	status := c.in(words{building: "pending", ready: "attached", deleting: "deleting"}, now)
	if status == "attached" && c.network.gone(now) {
		return "detached"
	}
	return status
}

// Gone includes that of the gateway.
func (c *connection) Gone(now time.Time) bool { return c.Life.Gone(now) || c.gateway.Gone(now) }

// attachable is a network that can be connected.
type attachable struct {
	sort, crn, name, region string
	gone                    func(now time.Time) bool
}

// The sorts of networks that the simulator connects.
const (
	networkVPC   = "vpc"
	networkPower = "power_virtual_server"
)

// powerRegions are the regions of PowerVS that have another name in VPC and Transit Gateway.
var powerRegions = map[string]string{
	"dal": "us-south", "wdc": "us-east", "sao": "br-sao", "tor": "ca-tor", "mon": "ca-tor", "lon": "eu-gb", "mad": "eu-es",
	"syd": "au-syd", "tok": "jp-tok", "osa": "jp-osa", "che": "in-che",
}

// attachable finds a network by its CRN.
func (t *transitGateways) attachable(sort, crn string, now time.Time) (attachable, error) {
	switch sort {
	case networkVPC:
		if v, found := t.cloud.vpc.vpcs.Find(func(v *vpc) bool { return v.crn == crn }); found && v.Status(now) == availability.ready {
			return attachable{sort: sort, crn: crn, name: v.name, region: v.region, gone: v.Gone}, nil
		}
	case networkPower:
		i, found := t.cloud.controller.byID(crn)
		if !found || i.planID != PlanPower || i.crn != crn || i.Status(now) != "active" {
			break
		}
		zone, _ := t.cloud.config.zone(i.target)
		if !zone.Capabilities[EdgeRouter] {
			return attachable{}, refuse(http.StatusBadRequest, "bad_request", "The workspace's data center has no Power Edge Router.")
		}
		region := zone.Region
		if other, differs := powerRegions[region]; differs {
			region = other
		}
		return attachable{sort: sort, crn: crn, name: i.name, region: region, gone: i.over}, nil
	default:
		return attachable{}, refuse(http.StatusBadRequest, "bad_request", "The simulator doesn't connect networks of type %q.", sort)
	}
	return attachable{}, refuse(http.StatusNotFound, "not_found", "The network with id %s cannot be found.", crn)
}

type connectionRequest struct {
	Name        *string `json:"name"`
	NetworkType string  `json:"network_type"`
	NetworkID   string  `json:"network_id"`
}

func (t *transitGateways) listConnections(r *call) (reply, error) {
	g, err := t.gatewayOf(r.PathValue("gateway"))
	if err != nil {
		return reply{}, err
	}
	return list(r, "connections", t.connections.within(g.id), map[string]func(*connection) string{
		"name": func(c *connection) string { return c.name },
	}, func(c *connection) doc { return c.view(r.now) })
}

func (t *transitGateways) connectionOf(r *call) (*connection, error) {
	g, err := t.gatewayOf(r.PathValue("gateway"))
	if err != nil {
		return nil, err
	}
	c, found := t.connections.byID(g.id, r.PathValue("id"))
	if !found {
		return nil, refuse(http.StatusNotFound, "not_found", "Cannot find Connection with id %s", r.PathValue("id"))
	}
	return c, nil
}

func (t *transitGateways) getConnection(r *call) (reply, error) {
	c, err := t.connectionOf(r)
	if err != nil {
		return reply{}, err
	}
	return ok(c.view(r.now))
}

func (t *transitGateways) createConnection(r *call) (reply, error) {
	g, err := t.gatewayOf(r.PathValue("gateway"))
	if err != nil {
		return reply{}, err
	}
	var request connectionRequest
	if err := r.into(&request); err != nil {
		return reply{}, err
	}
	network, err := t.attachable(request.NetworkType, request.NetworkID, r.now)
	if err != nil {
		return reply{}, err
	}
	name := network.name
	if request.Name != nil {
		name = *request.Name
	} else if network.sort == networkPower {
		return reply{}, refuse(http.StatusBadRequest, "bad_request", "The name is required for connections of type %s.", network.sort)
	}
	if err := checkTransitName(name); err != nil {
		return reply{}, err
	}
	if err := t.checkConnection(g, name, network, r.now); err != nil {
		return reply{}, err
	}
	c := &connection{
		object:  newObject(r.now, name, g.id, t.cloud.config.Times.Connection.Duration),
		gateway: g, network: network,
	}
	return reply{status: http.StatusCreated, body: add(t.cloud, t.connections, c).view(r.now)}, nil
}

// checkConnection refuses what doesn't fit the gateway, or the other connections. A network can be connected to one local gateway and
// to one global one.
func (t *transitGateways) checkConnection(g *gateway, name string, network attachable, now time.Time) error {
	siblings := t.connections.within(g.id)
	switch limit := t.cloud.config.Quotas.Connections; {
	case g.Status(now) != availability.ready:
		return refuse(http.StatusConflict, "conflict", "The gateway is in status %s.", g.Status(now))
	case !g.global && network.region != g.location:
		return refuse(http.StatusBadRequest, "bad_request", "A gateway without global routing connects networks of its own region only.")
	case t.connections.Any(func(c *connection) bool { return c.network.crn == network.crn && c.gateway.global == g.global }):
		return refuse(http.StatusConflict, "conflict", "The requested network is already connected to an existing transit gateway.")
	case t.connections.Any(func(c *connection) bool { return c.gateway == g && c.name == name }):
		return refuse(http.StatusConflict, "conflict", "A connection with the same name already exists.")
	case exceeded(limit, len(siblings)+1):
		return overQuota("quota_exceeded", "connections of the gateway", limit)
	}
	return nil
}

func (t *transitGateways) deleteConnection(r *call) (reply, error) {
	c, err := t.connectionOf(r)
	if err != nil {
		return reply{}, err
	}
	c.Delete(r.now, t.cloud.config.Times.ConnectionDelete.Duration)
	return reply{status: http.StatusNoContent}, nil
}

func (c *connection) view(now time.Time) doc {
	return doc{
		"id": c.id, "name": c.name, "network_type": c.network.sort, "network_id": c.network.crn, "status": c.Status(now),
		"created_at": date(c.Created), "updated_at": date(c.Updated(now)),
		"request_status": "approved", "prefix_filters_default": "permit",
	}
}
