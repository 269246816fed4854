package sim

import (
	"net/http"
	"slices"
	"time"
)

// part is a part of a load balancer: a listener, a pool, or a member of one.
type part struct {
	object
	of *balancer
}

// newPart is there when the load balancer is, or when the change has ended that adds it.
func (r *vpcRegion) newPart(now time.Time, b *balancer, name, within string) part {
	takes := r.cloud.config.Times.LoadBalancerUpdate.Duration
	if now.Before(b.Ready) {
		takes = b.Ready.Sub(now)
	}
	p := part{object: newObject(now, name, within, takes), of: b}
	p.id = "r006-" + p.id
	return p
}

// Status is the provisioning status.
func (p *part) Status(now time.Time) string { return p.in(balancing, now) }

// Gone includes that of the load balancer.
func (p *part) Gone(now time.Time) bool { return p.Life.Gone(now) || p.of.Gone(now) }

// listener is a port of a load balancer.
type listener struct {
	part
	listenerRequest
	// pool is where its connections go, if it has any.
	pool *backendPool
}

type listenerRequest struct {
	Port            int            `json:"port"`
	Protocol        string         `json:"protocol"`
	DefaultPool     *poolReference `json:"default_pool"`
	ConnectionLimit *int           `json:"connection_limit"`
}

// poolReference is a name while the load balancer is created, and an ID later.
type poolReference struct{ ID, Name string }

func (r *vpcRegion) listListeners(call *call) (reply, error) {
	b, err := r.balancerOf(call.PathValue("balancer"))
	if err != nil {
		return reply{}, err
	}
	return ok(doc{"listeners": docs(r.cloud.vpc.listeners.within(b.id), func(l *listener) doc { return l.view(call.now) })})
}

func (r *vpcRegion) listenerOf(call *call) (*listener, error) {
	b, err := r.balancerOf(call.PathValue("balancer"))
	if err != nil {
		return nil, err
	}
	l, found := r.cloud.vpc.listeners.byID(b.id, call.PathValue("id"))
	if !found {
		return nil, refuse(http.StatusNotFound, "listener_not_found", "The listener with ID '%s' cannot be found.", call.PathValue("id"))
	}
	return l, nil
}

func (r *vpcRegion) getListener(call *call) (reply, error) {
	l, err := r.listenerOf(call)
	if err != nil {
		return reply{}, err
	}
	return ok(l.view(call.now))
}

func (r *vpcRegion) createListener(call *call) (reply, error) {
	var request listenerRequest
	if err := call.into(&request); err != nil {
		return reply{}, err
	}
	b, err := r.toChange(call)
	if err != nil {
		return reply{}, err
	}
	l, err := r.newListener(call.now, b, request, r.cloud.vpc.listeners.within(b.id), r.cloud.vpc.pools.within(b.id))
	if err != nil {
		return reply{}, err
	}
	r.changed(b, call.now)
	return reply{status: http.StatusCreated, body: add(r.cloud, r.cloud.vpc.listeners, l).view(call.now)}, nil
}

// newListener checks a listener for a load balancer that has these others, and pools.
func (r *vpcRegion) newListener(
	now time.Time, b *balancer, request listenerRequest, others []*listener, pools []*backendPool,
) (*listener, error) {
	l := &listener{part: r.newPart(now, b, "", b.id), listenerRequest: request}
	switch limit := r.cloud.config.Quotas.Listeners; {
	case request.Port == 0:
		return nil, refuse(http.StatusBadRequest, "listener_missing_port", "Listener port is missing.")
	case request.Port < 0 || request.Port > 65535:
		return nil, refuse(http.StatusBadRequest, "listener_invalid_port", "Listener port '%d' is invalid.", request.Port)
	case request.Port >= 56500 && request.Port <= 56520:
		return nil, refuse(http.StatusBadRequest, "listener_reserved_port_conflict",
			"The port range of 56500 to 56520 is reserved for management purposes. Choose a different port.")
	case request.Protocol == "https":
		return nil, refuse(http.StatusBadRequest, "listener_missing_certificate_crn", "the simulator has no certificates")
	case request.Protocol != "tcp" && request.Protocol != "http":
		return nil, refuse(http.StatusBadRequest, "listener_invalid_protocol", "Listener protocol '%s' is invalid.", request.Protocol)
	case slices.ContainsFunc(others, func(other *listener) bool { return other.Port == request.Port }):
		return nil, refuse(http.StatusConflict, "listener_duplicate_port",
			"Port '%d' is used by another listener instance. Please choose a different port.", request.Port)
	case exceeded(limit, len(others)+1):
		return nil, overQuota("listener_over_quota", "listeners of the load balancer", limit)
	}
	if wanted := request.DefaultPool; wanted != nil {
		i := slices.IndexFunc(pools, func(p *backendPool) bool {
			return wanted.ID != "" && p.id == wanted.ID || wanted.Name != "" && p.name == wanted.Name
		})
		switch {
		case i < 0:
			return nil, refuse(http.StatusNotFound, "pool_not_found", "The pool with ID '%s%s' cannot be found.", wanted.ID, wanted.Name)
		case pools[i].Protocol != request.Protocol:
			return nil, refuse(http.StatusBadRequest, "listener_pool_protocols_conflict",
				"Listener protocol(%s) and pool protocol(%s) are in conflict.", request.Protocol, pools[i].Protocol)
		case slices.ContainsFunc(others, func(other *listener) bool { return other.pool == pools[i] }):
			return nil, refuse(http.StatusConflict, "listener_pool_in_use", "The pool is already the default pool of another listener.")
		}
		l.pool = pools[i]
	}
	return l, nil
}

func (r *vpcRegion) deleteListener(call *call) (reply, error) {
	l, err := r.listenerOf(call)
	if err != nil {
		return reply{}, err
	}
	return r.deletePart(call, &l.part)
}

// deletePart begins the deletion of a part, which is a change of the load balancer.
func (r *vpcRegion) deletePart(call *call, p *part) (reply, error) {
	b, err := r.toChange(call)
	if err != nil {
		return reply{}, err
	}
	r.changed(b, call.now)
	p.Delete(call.now, b.busy.Sub(call.now))
	return reply{status: http.StatusNoContent}, nil
}

func (l *listener) reference() doc {
	return doc{"id": l.id, "href": href(l.of.region, "load_balancers", l.of.id, "listeners", l.id)}
}

func (l *listener) view(now time.Time) doc {
	d := l.reference()
	d["created_at"], d["provisioning_status"] = date(l.Created), l.Status(now)
	d["port"], d["port_min"], d["port_max"], d["protocol"] = l.Port, l.Port, l.Port, l.Protocol
	d["accept_proxy_protocol"], d["policies"], d["idle_connection_timeout"] = false, []doc{}, 50
	d["connection_limit"] = 15000
	if l.ConnectionLimit != nil {
		d["connection_limit"] = *l.ConnectionLimit
	}
	if l.pool != nil {
		d["default_pool"] = l.pool.reference()
	}
	return d
}
