package client

import (
	"context"

	"github.com/IBM/vpc-go-sdk/vpcv1"
)

// Listeners returns those of a load balancer.
func (c *Client) Listeners(ctx context.Context, region, balancerID string) ([]Listener, error) {
	r := call{
		place: place{ServiceVPC, region}, op: "list listeners", ids: []string{balancerID},
		control: ifGone(c.balancer(region, balancerID)),
	}
	return list[Listener](ctx, c, r, "listeners", func(ctx context.Context, to *api, _ *string) error {
		return drained2(to.vpc.ListLoadBalancerListenersWithContext(ctx, &vpcv1.ListLoadBalancerListenersOptions{LoadBalancerID: &balancerID}))
	})
}

// Listener returns one of a load balancer. It is gone with that.
func (c *Client) Listener(ctx context.Context, region, balancerID, id string) (*Listener, error) {
	return get[Listener](ctx, c, call{
		place: place{ServiceVPC, region}, op: "get listener", ids: []string{balancerID, id}, control: within(c.balancer(region, balancerID), nil),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.GetLoadBalancerListenerWithContext(ctx, &vpcv1.GetLoadBalancerListenerOptions{
				LoadBalancerID: &balancerID, ID: &id,
			}))
		},
	}, id)
}

// CreateListener adds one to a load balancer. Conflict means that another one has the port; Busy, that a change is in progress.
func (c *Client) CreateListener(ctx context.Context, region, balancerID string, request ListenerRequest) (*Listener, error) {
	var pool vpcv1.LoadBalancerPoolIdentityIntf
	if request.DefaultPool.ID != "" {
		pool = &vpcv1.LoadBalancerPoolIdentity{ID: &request.DefaultPool.ID}
	}
	return create[Listener](ctx, c, call{
		place: place{ServiceVPC, region}, op: "create listener", ids: []string{balancerID}, control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.CreateLoadBalancerListenerWithContext(ctx, &vpcv1.CreateLoadBalancerListenerOptions{
				LoadBalancerID: &balancerID, Port: &request.Port, Protocol: &request.Protocol, DefaultPool: pool,
			}))
		},
	})
}

// DeleteListener starts the removal of a listener. It is over when Listener answers NotFound. Busy means that a change is in progress.
func (c *Client) DeleteListener(ctx context.Context, region, balancerID, id string) error {
	return c.ask(ctx, call{
		place: place{ServiceVPC, region}, op: "delete listener", ids: []string{balancerID, id},
		control: within(c.balancer(region, balancerID), nil),
		send: func(ctx context.Context, to *api) error {
			return statusOf(to.vpc.DeleteLoadBalancerListenerWithContext(ctx, &vpcv1.DeleteLoadBalancerListenerOptions{
				LoadBalancerID: &balancerID, ID: &id,
			}))
		},
	})
}

// Pools returns those of a load balancer.
func (c *Client) Pools(ctx context.Context, region, balancerID string) ([]Pool, error) {
	r := call{
		place: place{ServiceVPC, region}, op: "list pools", ids: []string{balancerID},
		control: ifGone(c.balancer(region, balancerID)),
	}
	return list[Pool](ctx, c, r, "pools", func(ctx context.Context, to *api, _ *string) error {
		return drained2(to.vpc.ListLoadBalancerPoolsWithContext(ctx, &vpcv1.ListLoadBalancerPoolsOptions{LoadBalancerID: &balancerID}))
	})
}

// Pool returns one of a load balancer. It is gone with that.
func (c *Client) Pool(ctx context.Context, region, balancerID, id string) (*Pool, error) {
	return get[Pool](ctx, c, call{
		place: place{ServiceVPC, region}, op: "get pool", ids: []string{balancerID, id}, control: within(c.balancer(region, balancerID), nil),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.GetLoadBalancerPoolWithContext(ctx, &vpcv1.GetLoadBalancerPoolOptions{LoadBalancerID: &balancerID, ID: &id}))
		},
	}, id)
}

// CreatePool adds one to a load balancer. Conflict means that another one has the name; Busy, that a change is in progress.
func (c *Client) CreatePool(ctx context.Context, region, balancerID string, request PoolRequest) (*Pool, error) {
	return create[Pool](ctx, c, call{
		place: place{ServiceVPC, region}, op: "create pool", ids: []string{balancerID}, control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.CreateLoadBalancerPoolWithContext(ctx, &vpcv1.CreateLoadBalancerPoolOptions{
				LoadBalancerID: &balancerID, Name: optional(request.Name), Algorithm: &request.Algorithm, Protocol: &request.Protocol,
				HealthMonitor: request.HealthMonitor.prototype(),
			}))
		},
	})
}

// DeletePool starts the removal of a pool. It is over when Pool answers NotFound. Busy means that a listener has it, or that a change is
// in progress.
func (c *Client) DeletePool(ctx context.Context, region, balancerID, id string) error {
	return c.ask(ctx, call{
		place: place{ServiceVPC, region}, op: "delete pool", ids: []string{balancerID, id}, control: within(c.balancer(region, balancerID), nil),
		send: func(ctx context.Context, to *api) error {
			return statusOf(to.vpc.DeleteLoadBalancerPoolWithContext(ctx, &vpcv1.DeleteLoadBalancerPoolOptions{
				LoadBalancerID: &balancerID, ID: &id,
			}))
		},
	})
}

// Members returns those of a pool.
func (c *Client) Members(ctx context.Context, region, balancerID, poolID string) ([]Member, error) {
	r := call{
		place: place{ServiceVPC, region}, op: "list members", ids: []string{balancerID, poolID},
		control: ifGone(c.pool(region, balancerID, poolID)),
	}
	return list[Member](ctx, c, r, "members", func(ctx context.Context, to *api, _ *string) error {
		return drained2(to.vpc.ListLoadBalancerPoolMembersWithContext(ctx, &vpcv1.ListLoadBalancerPoolMembersOptions{
			LoadBalancerID: &balancerID, PoolID: &poolID,
		}))
	})
}

// Member returns one of a pool. It is gone with that.
func (c *Client) Member(ctx context.Context, region, balancerID, poolID, id string) (*Member, error) {
	return get[Member](ctx, c, call{
		place: place{ServiceVPC, region}, op: "get member", ids: []string{balancerID, poolID, id},
		control: within(c.pool(region, balancerID, poolID), nil),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.GetLoadBalancerPoolMemberWithContext(ctx, &vpcv1.GetLoadBalancerPoolMemberOptions{
				LoadBalancerID: &balancerID, PoolID: &poolID, ID: &id,
			}))
		},
	}, id)
}

// CreateMember adds one to a pool. Conflict means that there is one of the address and port; Busy, that a change of the load balancer is
// in progress.
func (c *Client) CreateMember(ctx context.Context, region, balancerID, poolID, address string, port int64) (*Member, error) {
	return create[Member](ctx, c, call{
		place: place{ServiceVPC, region}, op: "create member", ids: []string{balancerID, poolID}, control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.CreateLoadBalancerPoolMemberWithContext(ctx, &vpcv1.CreateLoadBalancerPoolMemberOptions{
				LoadBalancerID: &balancerID, PoolID: &poolID, Port: &port, Target: &vpcv1.LoadBalancerPoolMemberTargetPrototype{Address: &address},
			}))
		},
	})
}

// DeleteMember starts the removal of a member. It is over when Member answers NotFound. Busy means that a change of the load balancer is
// in progress.
func (c *Client) DeleteMember(ctx context.Context, region, balancerID, poolID, id string) error {
	return c.ask(ctx, call{
		place: place{ServiceVPC, region}, op: "delete member", ids: []string{balancerID, poolID, id},
		control: within(c.pool(region, balancerID, poolID), nil),
		send: func(ctx context.Context, to *api) error {
			return statusOf(to.vpc.DeleteLoadBalancerPoolMemberWithContext(ctx, &vpcv1.DeleteLoadBalancerPoolMemberOptions{
				LoadBalancerID: &balancerID, PoolID: &poolID, ID: &id,
			}))
		},
	})
}

// pool asks whether there is a pool.
func (c *Client) pool(region, balancerID, id string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.Pool(ctx, region, balancerID, id)
		return err
	}
}
