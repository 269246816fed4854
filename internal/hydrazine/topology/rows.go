package topology

import (
	"maps"
	"net/netip"

	"github.com/ovn-kubernetes/libovsdb/model"

	"github.com/bedplate/bedplate/internal/hydrazine/ovn"
	"github.com/bedplate/bedplate/internal/hydrazine/ovn/nbdb"
)

// rows collects the rows of a group. A row's key is its kind and the UID of whom it is for.
type rows struct {
	*Topology
	all     []model.Model
	logical *nbdb.LogicalSwitch
	router  *nbdb.LogicalRouter
	gateway *nbdb.LogicalRouterPort // the router's on the logical switch

	underlay, routers addressSets // of the site
	copp              *string     // of all switches and routers
}

// newRows has what all others may refer to.
func newRows(t *Topology) *rows {
	r := &rows{Topology: t}
	r.underlay = r.addressSets("underlay", t.Site.underlay())
	r.routers = r.addressSets("routers", each(t.Site.unshared(t.Site.Routers)))
	r.meters()
	return r
}

func (r *rows) mark(key string) map[string]string { return ovn.Mark(r.Group.UID, key) }

func (r *rows) logicalSwitch(key, name string) *nbdb.LogicalSwitch {
	s := &nbdb.LogicalSwitch{UUID: ovn.Ref(key), ExternalIDs: r.mark(key), Name: name, Copp: r.copp}
	r.all = append(r.all, s)
	return s
}

func (r *rows) logicalRouter(key, name string, options map[string]string) *nbdb.LogicalRouter {
	router := &nbdb.LogicalRouter{UUID: ovn.Ref(key), ExternalIDs: r.mark(key), Name: name, Options: options, Copp: r.copp}
	r.all = append(r.all, router)
	return router
}

func (r *rows) port(on *nbdb.LogicalSwitch, key, name string) *nbdb.LogicalSwitchPort {
	port := &nbdb.LogicalSwitchPort{UUID: ovn.Ref(key), ExternalIDs: r.mark(key), Name: name}
	on.Ports = append(on.Ports, port.UUID)
	r.all = append(r.all, port)
	return port
}

// plug is the router's end of a cable.
type plug struct {
	mac      string
	networks []string
	options  map[string]string // of the switch's end
}

// cable connects a router and a switch, and returns the router's port.
func (r *rows) cable(router *nbdb.LogicalRouter, with *nbdb.LogicalSwitch, key string, p plug) *nbdb.LogicalRouterPort {
	port := &nbdb.LogicalRouterPort{
		UUID: ovn.Ref(key), ExternalIDs: r.mark(key), Name: portBetween(router.Name, with.Name),
		MAC: p.mac, Networks: p.networks,
	}
	router.Ports = append(router.Ports, port.UUID)
	r.all = append(r.all, port)
	end := r.port(with, key+"/switch", portBetween(with.Name, router.Name))
	end.Type, end.Addresses = "router", []string{"router"}
	end.Options = map[string]string{"router-port": port.Name}
	maps.Copy(end.Options, p.options)
	return port
}

func (r *rows) route(
	of *nbdb.LogicalRouter, key string, policy nbdb.LogicalRouterStaticRoutePolicy, match netip.Prefix, next netip.Addr,
	by *nbdb.LogicalRouterPort,
) {
	of.StaticRoutes = append(of.StaticRoutes, ovn.Ref(key))
	r.all = append(r.all, &nbdb.LogicalRouterStaticRoute{
		UUID: ovn.Ref(key), ExternalIDs: r.mark(key),
		Policy: &policy, IPPrefix: match.String(), Nexthop: next.String(), OutputPort: &by.Name,
	})
}

// alone is the network of one address.
func alone(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
