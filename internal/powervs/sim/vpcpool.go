package sim

import (
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// backendPool is a pool of a load balancer.
type backendPool struct {
	part
	poolRequest
}

type poolRequest struct {
	Name          *string        `json:"name"`
	Algorithm     string         `json:"algorithm"`
	Protocol      string         `json:"protocol"`
	HealthMonitor *healthMonitor `json:"health_monitor"`
}

type healthMonitor struct {
	Delay      int    `json:"delay"`
	MaxRetries int    `json:"max_retries"`
	Timeout    int    `json:"timeout"`
	Type       string `json:"type"`
	URLPath    string `json:"url_path,omitempty"`
	Port       int    `json:"port,omitempty"`
}

func (r *vpcRegion) listPools(call *call) (reply, error) {
	b, err := r.balancerOf(call.PathValue("balancer"))
	if err != nil {
		return reply{}, err
	}
	return ok(doc{"pools": docs(r.cloud.vpc.pools.within(b.id), func(p *backendPool) doc { return r.poolView(p, call.now) })})
}

// poolOf is the pool of a request.
func (r *vpcRegion) poolOf(call *call, id string) (*backendPool, error) {
	b, err := r.balancerOf(call.PathValue("balancer"))
	if err != nil {
		return nil, err
	}
	p, found := r.cloud.vpc.pools.byID(b.id, id)
	if !found {
		return nil, refuse(http.StatusNotFound, "pool_not_found", "The pool with ID '%s' cannot be found.", id)
	}
	return p, nil
}

func (r *vpcRegion) getPool(call *call) (reply, error) {
	p, err := r.poolOf(call, call.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return ok(r.poolView(p, call.now))
}

func (r *vpcRegion) createPool(call *call) (reply, error) {
	var request poolRequest
	if err := call.into(&request); err != nil {
		return reply{}, err
	}
	b, err := r.toChange(call)
	if err != nil {
		return reply{}, err
	}
	p, err := r.newPool(call.now, b, request, r.cloud.vpc.pools.within(b.id))
	if err != nil {
		return reply{}, err
	}
	r.changed(b, call.now)
	return reply{status: http.StatusCreated, body: r.poolView(add(r.cloud, r.cloud.vpc.pools, p), call.now)}, nil
}

// newPool checks a pool for a load balancer that has these others.
func (r *vpcRegion) newPool(now time.Time, b *balancer, request poolRequest, others []*backendPool) (*backendPool, error) {
	name, err := nameAmong(request.Name, others)
	if err != nil {
		return nil, err
	}
	algorithms := []string{"least_connections", "round_robin", "weighted_round_robin"}
	switch limit := r.cloud.config.Quotas.Pools; {
	case !slices.Contains(algorithms, request.Algorithm):
		return nil, refuse(http.StatusBadRequest, "pool_missing_algorithm", "Load balancing algorithm is missing.")
	case request.Protocol != "tcp" && request.Protocol != "http":
		return nil, refuse(http.StatusBadRequest, "pool_missing_protocol", "Pool protocol is missing.")
	case request.HealthMonitor == nil:
		return nil, refuse(http.StatusBadRequest, "pool_missing_health_monitor", "Pool health monitor is missing.")
	case exceeded(limit, len(others)+1):
		return nil, overQuota("pool_over_quota", "pools of the load balancer", limit)
	}
	if err := request.HealthMonitor.check(); err != nil {
		return nil, err
	}
	return &backendPool{part: r.newPart(now, b, name, b.id), poolRequest: request}, nil
}

func (m healthMonitor) check() error {
	switch {
	case m.Type != "tcp" && m.Type != "http" && m.Type != "https":
		return refuse(http.StatusBadRequest, "validation_enum", "health_monitor.type was not a valid option: %q", m.Type)
	case m.Delay < 2 || m.Delay > 60 || m.Timeout < 1 || m.Timeout > 59 || m.MaxRetries < 1 || m.MaxRetries > 10:
		return refuse(http.StatusBadRequest, "validation_max_value", "health_monitor: delay is 2 to 60, timeout 1 to 59, max_retries 1 to 10.")
	case m.Timeout >= m.Delay:
		return refuse(http.StatusBadRequest, "validation_failure", "health_monitor.timeout must be less than delay.")
	}
	return nil
}

func (r *vpcRegion) deletePool(call *call) (reply, error) {
	p, err := r.poolOf(call, call.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	if r.cloud.vpc.listeners.Any(func(l *listener) bool { return l.pool == p }) {
		return reply{}, refuse(http.StatusConflict, "pool_delete_conflict",
			"Pool cannot be deleted because it is still associated with one or more listeners.")
	}
	return r.deletePart(call, &p.part)
}

func (p *backendPool) reference() doc {
	return doc{"id": p.id, "name": p.name, "href": href(p.of.region, "load_balancers", p.of.id, "pools", p.id)}
}

func (r *vpcRegion) poolView(p *backendPool, now time.Time) doc {
	d := p.reference()
	d["created_at"], d["provisioning_status"] = date(p.Created), p.Status(now)
	d["algorithm"], d["protocol"], d["proxy_protocol"] = p.Algorithm, p.Protocol, "disabled"
	d["health_monitor"], d["failsafe_policy"] = p.HealthMonitor, doc{"action": "fail", "healthy_member_threshold_count": 0}
	d["members"] = docs(r.cloud.vpc.members.within(p.id), func(m *poolMember) doc { return m.reference() })
	return d
}

// poolMember is where a pool sends connections.
type poolMember struct {
	part
	pool    *backendPool
	port    int
	weight  int
	address netip.Addr
}

// Gone includes that of the pool.
func (m *poolMember) Gone(now time.Time) bool { return m.part.Gone(now) || m.pool.Gone(now) }

type memberRequest struct {
	Port   int `json:"port"`
	Weight int `json:"weight"`
	Target struct {
		Address string `json:"address"`
	} `json:"target"`
}

func (r *vpcRegion) listMembers(call *call) (reply, error) {
	p, err := r.poolOf(call, call.PathValue("pool"))
	if err != nil {
		return reply{}, err
	}
	return ok(doc{"members": docs(r.cloud.vpc.members.within(p.id), func(m *poolMember) doc { return m.view(call.now) })})
}

func (r *vpcRegion) memberOf(call *call) (*poolMember, error) {
	p, err := r.poolOf(call, call.PathValue("pool"))
	if err != nil {
		return nil, err
	}
	m, found := r.cloud.vpc.members.byID(p.id, call.PathValue("id"))
	if !found {
		return nil, refuse(http.StatusNotFound, "member_not_found", "Member with ID '%s' cannot be found.", call.PathValue("id"))
	}
	return m, nil
}

func (r *vpcRegion) getMember(call *call) (reply, error) {
	m, err := r.memberOf(call)
	if err != nil {
		return reply{}, err
	}
	return ok(m.view(call.now))
}

func (r *vpcRegion) createMember(call *call) (reply, error) {
	var request memberRequest
	if err := call.into(&request); err != nil {
		return reply{}, err
	}
	p, err := r.poolOf(call, call.PathValue("pool"))
	if err != nil {
		return reply{}, err
	}
	b, err := r.toChange(call)
	if err != nil {
		return reply{}, err
	}
	m, err := r.newMember(call.now, p, request)
	if err != nil {
		return reply{}, err
	}
	r.changed(b, call.now)
	return reply{status: http.StatusCreated, body: add(r.cloud, r.cloud.vpc.members, m).view(call.now)}, nil
}

func (r *vpcRegion) newMember(now time.Time, p *backendPool, request memberRequest) (*poolMember, error) {
	others := r.cloud.vpc.members.within(p.id)
	address, err := netip.ParseAddr(request.Target.Address)
	switch limit := r.cloud.config.Quotas.Members; {
	case request.Target.Address == "":
		return nil, refuse(http.StatusBadRequest, "member_missing_address", "Member address is missing.")
	case err != nil || !address.Is4():
		return nil, refuse(http.StatusBadRequest, "member_invalid_address",
			"The specified member IP address '%s' is invalid.", request.Target.Address)
	case request.Port < 1 || request.Port > 65535:
		return nil, refuse(http.StatusBadRequest, "member_invalid_port", "The specified member port '%d' is invalid.", request.Port)
	case request.Weight < 0 || request.Weight > 100:
		return nil, refuse(http.StatusBadRequest, "member_invalid_weight", "The specified member weight '%d' is invalid.", request.Weight)
	case slices.ContainsFunc(others, func(m *poolMember) bool { return m.address == address && m.port == request.Port }):
		return nil, refuse(http.StatusConflict, "member_duplicate_address_and_port",
			"Member with address %s and port %d already exists in the pool.", address, request.Port)
	case exceeded(limit, len(others)+1):
		return nil, overQuota("member_over_quota", "members of the pool", limit)
	}
	name := netip.AddrPortFrom(address, uint16(request.Port)).String()
	return &poolMember{part: r.newPart(now, p.of, name, p.id), pool: p, port: request.Port, weight: request.Weight, address: address}, nil
}

func (r *vpcRegion) deleteMember(call *call) (reply, error) {
	m, err := r.memberOf(call)
	if err != nil {
		return reply{}, err
	}
	return r.deletePart(call, &m.part)
}

func (m *poolMember) reference() doc {
	return doc{"id": m.id, "href": href(m.of.region, "load_balancers", m.of.id, "pools", m.pool.id, "members", m.id)}
}

func (m *poolMember) view(now time.Time) doc {
	d := m.reference()
	d["created_at"], d["provisioning_status"], d["health"] = date(m.Created), m.Status(now), "unknown"
	if m.Status(now) == balancing.ready {
		d["health"] = "ok"
	}
	d["port"], d["target"] = m.port, doc{"address": m.address.String()}
	if m.weight > 0 {
		d["weight"] = m.weight
	}
	return d
}
