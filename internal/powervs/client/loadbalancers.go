package client

import (
	"context"

	"github.com/IBM/vpc-go-sdk/vpcv1"
	"k8s.io/utils/ptr"
)

// LoadBalancer is a load balancer of VPC.
type LoadBalancer struct {
	ID   string `json:"id"`
	CRN  string `json:"crn"`
	Name string `json:"name"`
	// Hostname is its name in DNS.
	Hostname string `json:"hostname"`
	Public   bool   `json:"is_public"`
	// Status is active, create_pending, update_pending, delete_pending, failed or another one. Changes need an active one.
	Status         string      `json:"provisioning_status"`
	Subnets        []Reference `json:"subnets"`
	SecurityGroups []Reference `json:"security_groups"`
	// Listeners have an ID only, see Client.Listeners.
	Listeners []Reference `json:"listeners"`
	Pools     []Reference `json:"pools"`
}

// BalancerActive is the status in which a load balancer can be changed.
const BalancerActive = "active"

// Listener is a port of a load balancer.
type Listener struct {
	ID string `json:"id"`
	// Status is as that of the LoadBalancer.
	Status string `json:"provisioning_status"`
	Port   int64  `json:"port"`
	// Protocol is tcp, http or another one.
	Protocol    string    `json:"protocol"`
	DefaultPool Reference `json:"default_pool"`
}

// Pool is where a listener sends connections to.
type Pool struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Status is as that of the LoadBalancer.
	Status        string        `json:"provisioning_status"`
	Algorithm     string        `json:"algorithm"`
	Protocol      string        `json:"protocol"`
	HealthMonitor HealthMonitor `json:"health_monitor"`
}

// HealthMonitor says how a pool checks its members. Times are in seconds.
type HealthMonitor struct {
	// Type is tcp, http or https.
	Type    string `json:"type"`
	Delay   int64  `json:"delay"`
	Timeout int64  `json:"timeout"`
	Retries int64  `json:"max_retries"`
	// Port is that of the member unless it is set. URLPath is for http and https.
	Port    int64  `json:"port,omitempty"`
	URLPath string `json:"url_path,omitempty"`
}

// Member is one of those to which a pool sends connections.
type Member struct {
	ID string `json:"id"`
	// Status is as that of the LoadBalancer, Health is ok, faulted or unknown.
	Status string       `json:"provisioning_status"`
	Health string       `json:"health"`
	Port   int64        `json:"port"`
	Target MemberTarget `json:"target"`
}

// MemberTarget is the address of a Member.
type MemberTarget struct {
	Address string `json:"address"`
}

// LoadBalancerRequest is what CreateLoadBalancer takes.
type LoadBalancerRequest struct {
	Name             string
	Public           bool
	ResourceGroupID  string
	SubnetIDs        []string
	SecurityGroupIDs []string
	Pools            []PoolRequest
	Listeners        []ListenerRequest
}

// PoolRequest is a pool to make.
type PoolRequest struct {
	Name string
	// Algorithm is round_robin, least_connections or weighted_round_robin; Protocol is tcp, http or another one.
	Algorithm, Protocol string
	HealthMonitor       HealthMonitor
}

// ListenerRequest is a listener to make. In a LoadBalancerRequest its pool has a name, later an ID.
type ListenerRequest struct {
	Port        int64
	Protocol    string
	DefaultPool Reference
}

// LoadBalancers returns those of a region.
func (c *Client) LoadBalancers(ctx context.Context, region string) ([]LoadBalancer, error) {
	r := call{place: place{ServiceVPC, region}, op: "list load balancers"}
	return list[LoadBalancer](ctx, c, r, "load_balancers", func(ctx context.Context, to *api, start *string) error {
		return drained2(to.vpc.ListLoadBalancersWithContext(ctx, &vpcv1.ListLoadBalancersOptions{Limit: ptr.To[int64](pageSize), Start: start}))
	})
}

// LoadBalancer returns a load balancer.
func (c *Client) LoadBalancer(ctx context.Context, region, id string) (*LoadBalancer, error) {
	return get[LoadBalancer](ctx, c, call{
		place: place{ServiceVPC, region}, op: "get load balancer", ids: []string{id}, control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.GetLoadBalancerWithContext(ctx, &vpcv1.GetLoadBalancerOptions{ID: &id}))
		},
	}, id)
}

// CreateLoadBalancer makes a load balancer with its pools and listeners. Conflict means that another one of the VPC has the name; Busy,
// that a subnet isn't available.
func (c *Client) CreateLoadBalancer(ctx context.Context, region string, request LoadBalancerRequest) (*LoadBalancer, error) {
	return create[LoadBalancer](ctx, c, call{
		place: place{ServiceVPC, region}, op: "create load balancer", control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.CreateLoadBalancerWithContext(ctx, request.options()))
		},
	})
}

// MoveLoadBalancer puts a load balancer into other subnets. Busy means that a change is in progress, or that there was another change
// while this one was made.
func (c *Client) MoveLoadBalancer(ctx context.Context, region, id string, subnetIDs []string) error {
	at := call{place: place{ServiceVPC, region}, ids: []string{id}, control: c.vpcAnswers(region)}
	read, move := at, at
	var tag string
	read.op, read.read = "get load balancer", object(new(LoadBalancer), id)
	read.send = func(ctx context.Context, to *api) error {
		_, answer, err := to.vpc.GetLoadBalancerWithContext(ctx, &vpcv1.GetLoadBalancerOptions{ID: &id})
		if err == nil {
			tag = answer.Headers.Get("ETag")
		}
		return err
	}
	if err := c.ask(ctx, read); err != nil {
		return err
	}
	subnets := []map[string]string{}
	for _, id := range subnetIDs {
		subnets = append(subnets, map[string]string{"id": id})
	}
	move.op, move.read = "move load balancer", object(new(LoadBalancer), id)
	move.send = func(ctx context.Context, to *api) error {
		return drained2(to.vpc.UpdateLoadBalancerWithContext(ctx, &vpcv1.UpdateLoadBalancerOptions{
			ID: &id, LoadBalancerPatch: map[string]any{"subnets": subnets}, IfMatch: &tag,
		}))
	}
	return c.ask(ctx, move)
}

// DeleteLoadBalancer starts the deletion of a load balancer. It is over when LoadBalancer answers NotFound. Busy means that a change is
// in progress.
func (c *Client) DeleteLoadBalancer(ctx context.Context, region, id string) error {
	return c.ask(ctx, call{
		place: place{ServiceVPC, region}, op: "delete load balancer", ids: []string{id}, control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return statusOf(to.vpc.DeleteLoadBalancerWithContext(ctx, &vpcv1.DeleteLoadBalancerOptions{ID: &id}))
		},
	})
}

func (r LoadBalancerRequest) options() *vpcv1.CreateLoadBalancerOptions {
	o := &vpcv1.CreateLoadBalancerOptions{Name: &r.Name, IsPublic: &r.Public, ResourceGroup: inGroup(r.ResourceGroupID)}
	for _, id := range r.SubnetIDs {
		o.Subnets = append(o.Subnets, &vpcv1.SubnetIdentity{ID: &id})
	}
	for _, id := range r.SecurityGroupIDs {
		o.SecurityGroups = append(o.SecurityGroups, &vpcv1.SecurityGroupIdentity{ID: &id})
	}
	for _, pool := range r.Pools {
		o.Pools = append(o.Pools, vpcv1.LoadBalancerPoolPrototypeLoadBalancerContext{
			Name: &pool.Name, Algorithm: &pool.Algorithm, Protocol: &pool.Protocol, HealthMonitor: pool.HealthMonitor.prototype(),
		})
	}
	for _, listener := range r.Listeners {
		prototype := vpcv1.LoadBalancerListenerPrototypeLoadBalancerContext{Port: &listener.Port, Protocol: &listener.Protocol}
		if listener.DefaultPool.Name != "" {
			prototype.DefaultPool = &vpcv1.LoadBalancerPoolIdentityByName{Name: &listener.DefaultPool.Name}
		}
		o.Listeners = append(o.Listeners, prototype)
	}
	return o
}

func (m HealthMonitor) prototype() vpcv1.LoadBalancerPoolHealthMonitorPrototypeIntf {
	p := &vpcv1.LoadBalancerPoolHealthMonitorPrototype{
		Type: &m.Type, Delay: &m.Delay, Timeout: &m.Timeout, MaxRetries: &m.Retries, URLPath: optional(m.URLPath),
	}
	if m.Port != 0 {
		p.Port = &m.Port
	}
	return p
}

// balancer asks whether there is a load balancer.
func (c *Client) balancer(region, id string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.LoadBalancer(ctx, region, id)
		return err
	}
}
