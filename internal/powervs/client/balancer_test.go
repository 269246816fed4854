package client_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/httpclient"
	"github.com/bedplate/bedplate/internal/powervs/client"
)

var monitor = client.HealthMonitor{Type: "tcp", Delay: 5, Timeout: 2, Retries: 2}

func balancerRequest(name string, subnets ...string) client.LoadBalancerRequest {
	return client.LoadBalancerRequest{
		Name: name, Public: true, ResourceGroupID: group, SubnetIDs: subnets,
		Pools:     []client.PoolRequest{{Name: "pool-6443", Algorithm: "round_robin", Protocol: "tcp", HealthMonitor: monitor}},
		Listeners: []client.ListenerRequest{{Port: 6443, Protocol: "tcp", DefaultPool: client.Reference{Name: "pool-6443"}}},
	}
}

// newBalancer makes one that is active.
func (b bench) newBalancer(subnet *client.Subnet) *client.LoadBalancer {
	b.t.Helper()
	made := must(b.CreateLoadBalancer(b.t.Context(), region, balancerRequest("demo", subnet.ID)))
	b.pass(150 * time.Second)
	return must(b.LoadBalancer(b.t.Context(), region, made.ID))
}

func TestLoadBalancer_comesWithPoolsAndListeners(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, vpc := b.t.Context(), b.newVPC("demo")
		pending := must(b.CreateSubnet(ctx, region, client.SubnetRequest{Name: "s", VPCID: vpc.ID, Zone: "us-south-1", ResourceGroupID: group}))
		err := errorOf(b.CreateLoadBalancer(ctx, region, balancerRequest("demo", pending.ID)))
		b.Expect(err).To(beOf(fault.Busy), "the subnet isn't available")
		b.Expect(errorOf(b.CreateLoadBalancer(ctx, region, balancerRequest("demo", nothing)))).To(beOf(fault.Invalid))
		b.pass(5 * time.Second)
		made := must(b.CreateLoadBalancer(ctx, region, balancerRequest("demo", pending.ID)))
		b.Expect(made.Status).To(Equal("create_pending"))
		b.Expect(b.DeleteLoadBalancer(ctx, region, made.ID)).To(beOf(fault.Busy))
		b.Expect(errorOf(b.CreateLoadBalancer(ctx, region, balancerRequest("demo", pending.ID)))).To(beOf(fault.Conflict))
		b.pass(150 * time.Second)
		found := must(b.LoadBalancer(ctx, region, made.ID))
		b.Expect(*found).To(And(HaveField("Status", client.BalancerActive), HaveField("Hostname", Not(BeEmpty())), HaveField("Public", true),
			HaveField("Subnets", ConsistOf(HaveField("ID", pending.ID))),
			HaveField("SecurityGroups", ConsistOf(HaveField("ID", vpc.DefaultSecurityGroup.ID))),
			HaveField("Pools", ConsistOf(HaveField("Name", "pool-6443"))), HaveField("Listeners", HaveLen(1))))
		b.Expect(b.LoadBalancers(ctx, region)).To(ConsistOf(*found))
		listeners := must(b.Listeners(ctx, region, made.ID))
		b.Expect(listeners).To(ConsistOf(And(HaveField("Port", BeEquivalentTo(6443)), HaveField("DefaultPool.ID", found.Pools[0].ID))))
		pools := must(b.Pools(ctx, region, made.ID))
		b.Expect(pools).To(ConsistOf(And(HaveField("Name", "pool-6443"), HaveField("HealthMonitor", monitor))))
		b.Expect(b.Listener(ctx, region, made.ID, listeners[0].ID)).To(HaveValue(Equal(listeners[0])))
		b.Expect(b.Pool(ctx, region, made.ID, pools[0].ID)).To(HaveValue(Equal(pools[0])))

		b.Expect(b.DeleteSubnet(ctx, region, pending.ID)).To(beOf(fault.Busy))
		b.Expect(b.DeleteLoadBalancer(ctx, region, made.ID)).To(Succeed())
		b.pass(time.Minute)
		b.Expect(errorOf(b.LoadBalancer(ctx, region, made.ID))).To(beOf(fault.NotFound))
		b.Expect(b.DeleteLoadBalancer(ctx, region, made.ID)).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.Pools(ctx, region, made.ID))).To(beOf(fault.NotFound), "its parts are gone with it")
		b.Expect(errorOf(b.Member(ctx, region, made.ID, pools[0].ID, nothing))).To(beOf(fault.NotFound))
		b.Expect(b.DeleteMember(ctx, region, made.ID, pools[0].ID, nothing)).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.CreateMember(ctx, region, made.ID, pools[0].ID, "192.168.0.7", 6443))).To(beOf(fault.Invalid))
	})
}

func TestListenersAndPools_areAddedAndRemoved(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		lb := b.newBalancer(b.newSubnet(b.newVPC("demo"), "s", "us-south-1"))
		request := client.PoolRequest{Name: "pool-22623", Algorithm: "round_robin", Protocol: "tcp", HealthMonitor: monitor}
		pool := must(b.CreatePool(ctx, region, lb.ID, request))
		b.Expect(errorOf(b.CreatePool(ctx, region, lb.ID, request))).To(beOf(fault.Busy), "a change is in progress")
		b.pass(20 * time.Second)
		b.Expect(errorOf(b.CreatePool(ctx, region, lb.ID, request))).To(beOf(fault.Conflict))
		wanted := client.ListenerRequest{Port: 22623, Protocol: "tcp", DefaultPool: client.Reference{ID: pool.ID}}
		listener := must(b.CreateListener(ctx, region, lb.ID, wanted))
		b.pass(20 * time.Second)
		b.Expect(errorOf(b.CreateListener(ctx, region, lb.ID, wanted))).To(beOf(fault.Conflict))
		b.Expect(b.DeletePool(ctx, region, lb.ID, pool.ID)).To(beOf(fault.Busy))
		b.Expect(b.DeleteListener(ctx, region, lb.ID, listener.ID)).To(Succeed())
		b.pass(20 * time.Second)
		b.Expect(b.DeleteListener(ctx, region, lb.ID, listener.ID)).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.Listener(ctx, region, lb.ID, listener.ID))).To(beOf(fault.NotFound))
		b.Expect(b.DeletePool(ctx, region, lb.ID, pool.ID)).To(Succeed())
		b.pass(20 * time.Second)
		b.Expect(errorOf(b.Pool(ctx, region, lb.ID, pool.ID))).To(beOf(fault.NotFound))
		b.Expect(errorOf(b.Members(ctx, region, lb.ID, pool.ID))).To(beOf(fault.NotFound))
	})
}

func TestMembers_areAddedAndRemoved(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx := b.t.Context()
		lb := b.newBalancer(b.newSubnet(b.newVPC("demo"), "s", "us-south-1"))
		pool := lb.Pools[0].ID
		b.Expect(b.Members(ctx, region, lb.ID, pool)).To(BeEmpty())
		member := must(b.CreateMember(ctx, region, lb.ID, pool, "192.168.0.7", 6443))
		b.Expect(*member).To(And(HaveField("Target.Address", "192.168.0.7"), HaveField("Port", BeEquivalentTo(6443))))
		b.Expect(b.DeleteMember(ctx, region, lb.ID, pool, member.ID)).To(beOf(fault.Busy))
		b.pass(20 * time.Second)
		b.Expect(errorOf(b.CreateMember(ctx, region, lb.ID, pool, "192.168.0.7", 6443))).To(beOf(fault.Conflict))
		b.Expect(errorOf(b.CreateMember(ctx, region, lb.ID, pool, "no address", 6443))).To(beOf(fault.Invalid))
		b.Expect(b.Members(ctx, region, lb.ID, pool)).To(ConsistOf(And(HaveField("ID", member.ID), HaveField("Health", "ok"))))
		b.Expect(b.Member(ctx, region, lb.ID, pool, member.ID)).To(HaveValue(HaveField("Status", client.BalancerActive)))
		b.Expect(b.DeleteMember(ctx, region, lb.ID, pool, member.ID)).To(Succeed())
		b.pass(20 * time.Second)
		b.Expect(b.DeleteMember(ctx, region, lb.ID, pool, member.ID)).To(beOf(fault.NotFound))
		b.Expect(b.Members(ctx, region, lb.ID, pool)).To(BeEmpty())
	})
}

func TestLoadBalancer_movesToOtherSubnets(t *testing.T) {
	inSimulatedTime(t, func(b bench) {
		ctx, vpc := b.t.Context(), b.newVPC("demo")
		one, other := b.newSubnet(vpc, "one", "us-south-1"), b.newSubnet(vpc, "other", "us-south-2")
		lb := b.newBalancer(one)
		b.Expect(b.MoveLoadBalancer(ctx, region, lb.ID, []string{nothing})).To(beOf(fault.Invalid), "there is no such subnet")
		late := b.connect(func(next http.RoundTripper) http.RoundTripper {
			return httpclient.RoundTrip(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodPatch {
					r.Header.Set("If-Match", `W/"of before"`)
				}
				return next.RoundTrip(r)
			})
		})
		b.Expect(late.MoveLoadBalancer(ctx, region, lb.ID, []string{other.ID})).To(beOf(fault.Busy), "there was another change in between")
		b.Expect(b.MoveLoadBalancer(ctx, region, lb.ID, []string{one.ID, other.ID})).To(Succeed())
		b.Expect(must(b.LoadBalancer(ctx, region, lb.ID)).Subnets).To(ConsistOf(HaveField("ID", one.ID), HaveField("ID", other.ID)))
		b.Expect(b.MoveLoadBalancer(ctx, region, lb.ID, []string{one.ID})).To(beOf(fault.Busy), "a change is in progress")
		b.Expect(b.MoveLoadBalancer(ctx, region, nothing, []string{one.ID})).To(beOf(fault.NotFound))
	})
}
