package sim

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// balancer is a load balancer.
type balancer struct {
	regional
	vpc     *vpc
	public  bool
	subnets []*subnet
	groups  []*securityGroup
	address netip.Addr
	// busy is until when the last change is on its way.
	busy time.Time
}

// balancing are the words of a load balancer and of its parts.
var balancing = words{building: "create_pending", ready: "active", deleting: "delete_pending"}

// updating is the status of a load balancer that is being changed.
const updating = "update_pending"

// Status is the provisioning status.
func (b *balancer) Status(now time.Time) string {
	status := b.in(balancing, now)
	if status == balancing.ready && now.Before(b.busy) {
		return updating
	}
	return status
}

type balancerRequest struct {
	Name           *string           `json:"name"`
	IsPublic       *bool             `json:"is_public"`
	ResourceGroup  *idReference      `json:"resource_group"`
	Subnets        []idReference     `json:"subnets"`
	SecurityGroups []idReference     `json:"security_groups"`
	Pools          []poolRequest     `json:"pools"`
	Listeners      []listenerRequest `json:"listeners"`
	Profile        *nameReference    `json:"profile"`
}

func (r *vpcRegion) listBalancers(call *call) (reply, error) {
	return list(call, "load_balancers", inRegion(r.cloud.vpc.balancers, r.region.Name), nil,
		func(b *balancer) doc { return r.balancerView(b, call.now) })
}

// balancerOf is the one in the path of a request.
func (r *vpcRegion) balancerOf(id string) (*balancer, error) {
	b, err := getInRegion(r.cloud.vpc.balancers, r.region.Name, id)
	if err != nil {
		return nil, refuse(http.StatusNotFound, "load_balancer_not_found", "The load balancer with ID '%s' cannot be found.", id)
	}
	return b, nil
}

func (r *vpcRegion) getBalancer(call *call) (reply, error) {
	b, err := r.balancerOf(call.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	return r.withETag(b, call)
}

// createBalancer makes a load balancer with its pools and listeners, or nothing.
func (r *vpcRegion) createBalancer(call *call) (reply, error) {
	var request balancerRequest
	if err := call.into(&request); err != nil {
		return reply{}, err
	}
	b, err := r.newBalancer(call.now, request)
	if err != nil {
		return reply{}, err
	}
	var pools []*backendPool
	for _, wanted := range request.Pools {
		p, err := r.newPool(call.now, b, wanted, pools)
		if err != nil {
			return reply{}, err
		}
		pools = append(pools, p)
	}
	var listeners []*listener
	for _, wanted := range request.Listeners {
		l, err := r.newListener(call.now, b, wanted, listeners, pools)
		if err != nil {
			return reply{}, err
		}
		listeners = append(listeners, l)
	}
	add(r.cloud, r.cloud.vpc.balancers, b)
	for _, p := range pools {
		add(r.cloud, r.cloud.vpc.pools, p)
	}
	for _, l := range listeners {
		add(r.cloud, r.cloud.vpc.listeners, l)
	}
	return reply{status: http.StatusCreated, body: r.balancerView(b, call.now)}, nil
}

// newBalancer checks all of a request but the pools and listeners.
func (r *vpcRegion) newBalancer(now time.Time, request balancerRequest) (*balancer, error) {
	switch {
	case request.IsPublic == nil:
		return nil, refuse(http.StatusBadRequest, "load_balancer_missing_is_public", "'is_public' field is missing.")
	case len(request.Subnets) == 0:
		return nil, refuse(http.StatusBadRequest, "load_balancer_missing_subnets", "Load balancer subnets is missing.")
	case request.Profile != nil && request.Profile.Name != "application":
		return nil, refuse(http.StatusBadRequest, "bad_field", "the simulator has load balancers of profile application only")
	}
	b := &balancer{public: *request.IsPublic}
	if err := r.place(b, request, now); err != nil {
		return nil, err
	}
	name, err := validName(request.Name)
	if err != nil {
		return nil, err
	}
	group, err := r.cloud.groupOf(request.ResourceGroup)
	if err != nil {
		return nil, err
	}
	switch limit := r.cloud.config.Quotas.LoadBalancers; {
	case isTaken(name, r.cloud.vpc.balancers.within(b.vpc.id)):
		return nil, refuse(http.StatusConflict, "load_balancer_duplicate_name",
			"Name '%s' is used by another load balancer instance. Please choose a different name.", name)
	case exceeded(limit, len(inRegion(r.cloud.vpc.balancers, r.region.Name))+1):
		return nil, overQuota("load_balancer_over_quota", "load balancers in the region", limit)
	}
	b.regional = r.newRegional(now, name, b.vpc.id, "load-balancer", group, r.cloud.config.Times.LoadBalancer.Duration)
	b.address = r.cloud.freeAddress()
	return b, nil
}

// place finds the subnets of a new load balancer, which are in one VPC, and its security groups.
func (r *vpcRegion) place(b *balancer, request balancerRequest, now time.Time) error {
	for _, wanted := range request.Subnets {
		s, err := getInRegion(r.cloud.vpc.subnets, r.region.Name, wanted.ID)
		switch {
		case err != nil:
			return refuse(http.StatusNotFound, "load_balancer_subnet_not_found", "The subnet with ID '%s' cannot be found.", wanted.ID)
		case s.Status(now) != availability.ready:
			return refuse(http.StatusBadRequest, "load_balancer_invalid_subnet",
				"The subnet with ID '%s' is not valid. Make sure to use an existing subnet with 'available' status.", s.id)
		case b.vpc != nil && b.vpc != s.vpc:
			return refuse(http.StatusBadRequest, "load_balancer_subnets_not_in_same_vpc", "The subnets must be in the same VPC.")
		}
		b.vpc, b.subnets = s.vpc, append(b.subnets, s)
	}
	for _, wanted := range request.SecurityGroups {
		g, err := getInRegion(r.cloud.vpc.groups, r.region.Name, wanted.ID)
		switch {
		case err != nil:
			return err
		case g.vpc != b.vpc:
			return refuse(http.StatusBadRequest, "security_group_not_in_vpc", "The load balancer and security group are in different VPCs.")
		}
		b.groups = append(b.groups, g)
	}
	if len(b.groups) == 0 {
		b.groups = []*securityGroup{b.vpc.defaultGroup}
	}
	return nil
}

// freeAddress is the first one of Config.Balancers that no load balancer has.
func (c *Cloud) freeAddress() netip.Addr {
	all := c.config.Balancers.Masked()
	for a := all.Addr().Next(); all.Contains(a); a = a.Next() {
		if !c.vpc.balancers.Any(func(b *balancer) bool { return b.address == a }) {
			return a
		}
	}
	return all.Addr()
}

// balancersIn are those that use a subnet.
func (r *vpcRegion) balancersIn(s *subnet) []*balancer {
	var all []*balancer
	for _, b := range r.cloud.vpc.balancers.Items {
		if slices.Contains(b.subnets, s) {
			all = append(all, b)
		}
	}
	return all
}

// toChange is the load balancer of a request that changes it. One that isn't active refuses that.
func (r *vpcRegion) toChange(call *call) (*balancer, error) {
	b, err := r.balancerOf(call.PathValue("balancer"))
	if err != nil {
		return nil, err
	}
	if status := b.Status(call.now); status != balancing.ready {
		return nil, refuse(http.StatusConflict, "load_balancer_update_conflict",
			"The load balancer with ID '%s' cannot be updated because its status is '%s'.", b.id, strings.ToUpper(status))
	}
	return b, nil
}

// changed begins a change, which takes its time.
func (r *vpcRegion) changed(b *balancer, now time.Time) {
	b.busy = now.Add(r.cloud.config.Times.LoadBalancerUpdate.Duration)
	b.Changed = now
}

func (r *vpcRegion) deleteBalancer(call *call) (reply, error) {
	b, err := r.balancerOf(call.PathValue("id"))
	if err != nil {
		return reply{}, err
	}
	if status := b.Status(call.now); status != balancing.ready && status != "failed" {
		return reply{}, refuse(http.StatusConflict, "load_balancer_delete_conflict",
			"The load balancer with ID '%s' cannot be deleted because its status is '%s'.", b.id, strings.ToUpper(status))
	}
	b.Delete(call.now, r.cloud.config.Times.LoadBalancerDelete.Duration)
	return reply{status: http.StatusNoContent}, nil
}

// hostname is the address itself: where a simulator is, no DNS knows others.
func (b *balancer) hostname() string { return b.address.String() }

func (r *vpcRegion) balancerView(b *balancer, now time.Time) doc {
	d := b.doc("load_balancers")
	status := b.Status(now)
	d["resource_type"], d["provisioning_status"], d["operating_status"] = "load_balancer", status, "offline"
	public, private := []doc{}, []doc{}
	if status == balancing.ready || status == updating {
		d["operating_status"] = "online"
		if public = append(public, doc{"address": b.hostname()}); !b.public {
			public, private = private, []doc{{
				"address": b.hostname(), "id": b.id + "-ip", "name": "lb-ip", "href": href(b.region, "subnets", b.subnets[0].id, "reserved_ips", b.id),
				"resource_type": "subnet_reserved_ip",
			}}
		}
	}
	d["hostname"], d["is_public"], d["public_ips"], d["private_ips"] = b.hostname(), b.public, public, private
	d["subnets"] = docs(b.subnets, (*subnet).asReference)
	d["security_groups"] = docs(b.groups, func(g *securityGroup) doc { return g.reference("security_groups") })
	d["listeners"] = docs(r.cloud.vpc.listeners.within(b.id), func(l *listener) doc { return l.reference() })
	d["pools"] = docs(r.cloud.vpc.pools.within(b.id), func(p *backendPool) doc { return p.reference() })
	d["profile"] = doc{"name": "application", "family": "application", "href": href(b.region, "load_balancer", "profiles", "application")}
	d["logging"] = doc{"datapath": doc{"active": false}}
	d["access_mode"], d["availability"] = map[bool]string{true: "public", false: "private"}[b.public], "subnet"
	for _, never := range []string{
		"is_private_path", "route_mode", "udp_supported", "mtls_supported", "advanced_health_checks_supported",
		"asymmetric_routing_supported", "fqdn_pool_members_supported",
	} {
		d[never] = false
	}
	for _, always := range []string{"instance_groups_supported", "security_groups_supported", "source_ip_session_persistence_supported"} {
		d[always] = true
	}
	d["attached_load_balancer_pool_members"], d["failsafe_policy_actions"] = []doc{}, []string{"fail", "forward"}
	return d
}
