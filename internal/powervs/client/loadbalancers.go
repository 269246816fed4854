package client

import "context"

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
	return nil, errSurface
}

// LoadBalancer returns a load balancer.
func (c *Client) LoadBalancer(ctx context.Context, region, id string) (*LoadBalancer, error) {
	return nil, errSurface
}

// CreateLoadBalancer makes a load balancer with its pools and listeners. Conflict means that another one of the VPC has the name; Busy,
// that a subnet isn't available.
func (c *Client) CreateLoadBalancer(ctx context.Context, region string, request LoadBalancerRequest) (*LoadBalancer, error) {
	return nil, errSurface
}

// DeleteLoadBalancer starts the deletion of a load balancer. It is over when LoadBalancer answers NotFound. Busy means that a change is
// in progress.
func (c *Client) DeleteLoadBalancer(ctx context.Context, region, id string) error { return errSurface }

// Listeners returns those of a load balancer.
func (c *Client) Listeners(ctx context.Context, region, balancerID string) ([]Listener, error) {
	return nil, errSurface
}

// Listener returns one of a load balancer. It is gone with that.
func (c *Client) Listener(ctx context.Context, region, balancerID, id string) (*Listener, error) {
	return nil, errSurface
}

// CreateListener adds one to a load balancer. Conflict means that another one has the port; Busy, that a change is in progress.
func (c *Client) CreateListener(ctx context.Context, region, balancerID string, request ListenerRequest) (*Listener, error) {
	return nil, errSurface
}

// DeleteListener starts the removal of a listener. It is over when Listener answers NotFound. Busy means that a change is in progress.
func (c *Client) DeleteListener(ctx context.Context, region, balancerID, id string) error {
	return errSurface
}

// Pools returns those of a load balancer.
func (c *Client) Pools(ctx context.Context, region, balancerID string) ([]Pool, error) {
	return nil, errSurface
}

// Pool returns one of a load balancer. It is gone with that.
func (c *Client) Pool(ctx context.Context, region, balancerID, id string) (*Pool, error) {
	return nil, errSurface
}

// CreatePool adds one to a load balancer. Conflict means that another one has the name; Busy, that a change is in progress.
func (c *Client) CreatePool(ctx context.Context, region, balancerID string, request PoolRequest) (*Pool, error) {
	return nil, errSurface
}

// DeletePool starts the removal of a pool. It is over when Pool answers NotFound. Busy means that a listener has it, or that a change is
// in progress.
func (c *Client) DeletePool(ctx context.Context, region, balancerID, id string) error {
	return errSurface
}

// Members returns those of a pool.
func (c *Client) Members(ctx context.Context, region, balancerID, poolID string) ([]Member, error) {
	return nil, errSurface
}

// Member returns one of a pool. It is gone with that.
func (c *Client) Member(ctx context.Context, region, balancerID, poolID, id string) (*Member, error) {
	return nil, errSurface
}

// CreateMember adds one to a pool. Conflict means that there is one of the address and port; Busy, that a change of the load balancer is
// in progress.
func (c *Client) CreateMember(ctx context.Context, region, balancerID, poolID, address string, port int64) (*Member, error) {
	return nil, errSurface
}

// DeleteMember starts the removal of a member. It is over when Member answers NotFound. Busy means that a change of the load balancer is
// in progress.
func (c *Client) DeleteMember(ctx context.Context, region, balancerID, poolID, id string) error {
	return errSurface
}
