package machine

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/cluster"
)

// memberKind are members of the pools of the cluster's load balancers.
func (n *node) memberKind() *graph.Kind[ibm.Member] {
	api := n.api
	return &graph.Kind[ibm.Member]{
		Name: infrav1.KindPoolMember, Service: serviceOf(api, ibm.ServiceVPC),
		Within: []string{infrav1.KindRegion, infrav1.KindLoadBalancer, infrav1.KindPool},
		ID:     func(m *ibm.Member) string { return m.ID },
		Scope:  func(key string) graph.Scope { return n.pools[key] },
		Get: func(ctx context.Context, id string, in graph.Scope) (*ibm.Member, error) {
			if err := n.goesWithBalancer(ctx, in); err != nil {
				return nil, err
			}
			return api.Member(ctx, in[infrav1.KindRegion], in[infrav1.KindLoadBalancer], in[infrav1.KindPool], id)
		},
		Find: func(ctx context.Context, k graph.Key) ([]ibm.Member, error) {
			switch err := n.goesWithBalancer(ctx, k.Scope); {
			case fault.IsNotFound(err):
				return nil, nil
			case err != nil:
				return nil, err
			}
			all, err := api.Members(ctx, k.Scope[infrav1.KindRegion], k.Scope[infrav1.KindLoadBalancer], k.Scope[infrav1.KindPool])
			return slices.DeleteFunc(all, func(m ibm.Member) bool { return titleOf(m.Target.Address, m.Port) != k.Title }), err
		},
		Phase: memberPhase,
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteMember(ctx, in[infrav1.KindRegion], in[infrav1.KindLoadBalancer], in[infrav1.KindPool], id)
		},
	}
}

// goesWithBalancer is NotFound about a member that is deleted with its load balancer, because the cluster is being deleted and the load
// balancer has failed: it takes no changes, and is itself deleted after the machines.
func (n *node) goesWithBalancer(ctx context.Context, in graph.Scope) error {
	if n.object.DeletionTimestamp.IsZero() || n.cluster == nil || n.infra == nil ||
		n.cluster.DeletionTimestamp.IsZero() && n.infra.DeletionTimestamp.IsZero() {
		return nil
	}
	for _, made := range n.infra.Status.LoadBalancers {
		if made.ID != in[infrav1.KindLoadBalancer] || !made.ControllerCreated {
			continue
		}
		b, err := n.api.LoadBalancer(ctx, in[infrav1.KindRegion], made.ID)
		if err == nil && b.Status == "failed" {
			err = &fault.Error{Class: fault.NotFound, Err: fmt.Errorf("load balancer %s has failed, and is deleted with its members", made.ID)}
		}
		return err
	}
	return nil
}

// titleOf is what is unique among the members of a pool.
func titleOf(address string, port int64) string { return address + ":" + strconv.FormatInt(port, 10) }

// memberPhase is the phase of a member.
func memberPhase(m *ibm.Member) phases.Phase {
	switch m.Status {
	case ibm.BalancerActive:
		return phases.Ready()
	case "delete_pending":
		return phases.Deleting()
	case "failed":
		return phases.Failed("pool member %s has failed: ask IBM, or delete it, so that another one is made", m.ID)
	}
	return phases.Waiting("pool member %s is %s", m.ID, m.Status)
}

// memberKey is that of an address at a place.
func memberKey(p place, ip string) string {
	return fmt.Sprintf("%s%s/%d/%s", memberKeys, p.balancer, p.port, ip)
}

// place is a port of a load balancer that leads to the machine.
type place struct {
	balancer string
	port     int64
}

// places are those of the cluster's load balancers. They are known if all of these exist.
func (n *node) places() (all []place, known bool) {
	if n.infra == nil {
		return nil, false
	}
	if !n.infra.CreatesInfra() {
		return nil, true
	}
	balancers := n.infra.Spec.LoadBalancers
	if len(balancers) == 0 {
		balancers = []infrav1.VPCLoadBalancerSpec{{Name: n.infra.DefaultLoadBalancerName()}}
	}
	for i, spec := range balancers {
		name := spec.Name
		if name == "" && spec.ID == "" {
			name = n.infra.LoadBalancerName(i)
		}
		id := spec.ID
		if id == "" {
			id = n.infra.Status.LoadBalancers[name].ID
		}
		if id == "" {
			return nil, false
		}
		for _, port := range n.ports(spec) {
			all = append(all, place{id, port})
		}
	}
	return all, true
}

// ports of a load balancer that lead to the machine.
func (n *node) ports(spec infrav1.VPCLoadBalancerSpec) (all []int64) {
	if n.isControlPlane() {
		all = append(all, cluster.APIPort(n.cluster, n.infra))
	}
	for _, listener := range spec.AdditionalListeners {
		if n.selected(&listener.Selector) && !slices.Contains(all, listener.Port) {
			all = append(all, listener.Port)
		}
	}
	return all
}

// selected reports whether a listener is for the machine. One without a selector is for the control plane.
func (n *node) selected(selector *metav1.LabelSelector) bool {
	if len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		return n.isControlPlane()
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(n.object.Labels)) // admission checks it
}

// wantMembers wants a member for each place. If the machine's address changes, the key does, too.
func (n *node) wantMembers(ctx context.Context, after graph.Ref) {
	places, known := n.places()
	ip := address(n.seen(ctx))
	if !known || ip == "" {
		n.graph.Keep(memberKeys, "its load balancers or its address aren't known")
	}
	var waits phases.Phase
	switch {
	case !known:
		waits = phases.Waiting("the load balancers of the cluster aren't known yet").Announced()
	case len(places) == 0:
	case ip == "":
		waits = phases.Waiting("the address of the machine isn't known yet").Announced()
	default:
		waits = n.wantEach(ctx, places, ip, after)
	}
	if waits.State != "" {
		n.graph.Gate(infrav1.LoadBalancerReadyCondition, func() phases.Phase { return waits }, after)
	}
}

// seen is the virtual machine before its turn in the graph: its address decides which members are wanted.
func (n *node) seen(ctx context.Context) *ibm.Server {
	if !n.exists() {
		return nil
	}
	server, err := n.reconciler.VMs.Of(ctx, n.api, n.in, n.graph.ID(vmKey))
	if err != nil { // which the graph reports, too
		return nil
	}
	return server
}

// wantEach wants the members whose pools are known. The phase is zero if all are.
func (n *node) wantEach(ctx context.Context, places []place, ip string, after graph.Ref) (waits phases.Phase) {
	for _, p := range places {
		key := memberKey(p, ip)
		if n.pools[key] = n.graph.Scope(key); n.pools[key] == nil {
			pool, err := n.poolOf(ctx, p)
			if err == nil && pool == nil {
				err = &fault.Error{Class: fault.Busy, Op: "look up the pool", Err: fmt.Errorf(
					"load balancer %s has no listener with port %d and a default pool yet: if it is your own, add one", p.balancer, p.port)}
			}
			if err != nil {
				waits = phases.Of(err)
				continue
			}
			n.pools[key] = pool
		}
		n.wantMember(key, p, ip, after)
	}
	return waits
}

func (n *node) wantMember(key string, p place, ip string, after graph.Ref) {
	graph.Add(n.graph, n.members, graph.Want[ibm.Member]{
		Key: key, Condition: infrav1.LoadBalancerReadyCondition, After: []graph.Ref{after, n.vm}, Claim: graph.UseOrCreate(titleOf(ip, p.port)),
		Lock: func() string { return "load balancer " + p.balancer }, // each change keeps it busy for a while
		Create: func(_ context.Context, k graph.Key) (graph.Call[ibm.Member], error) {
			api, region, pool := n.api, k.Scope[infrav1.KindRegion], k.Scope[infrav1.KindPool]
			return func(ctx context.Context) (*ibm.Member, error) {
				return api.CreateMember(ctx, region, p.balancer, pool, ip, p.port)
			}, nil
		},
	})
}

// poolOf is the pool that a port of a load balancer leads to; nil if there is no listener with one.
func (n *node) poolOf(ctx context.Context, p place) (graph.Scope, error) {
	region := n.infra.Region()
	listeners, err := n.api.Listeners(ctx, region, p.balancer)
	for _, l := range listeners {
		if l.Port == p.port && l.DefaultPool.ID != "" {
			return graph.Scope{infrav1.KindRegion: region, infrav1.KindLoadBalancer: p.balancer, infrav1.KindPool: l.DefaultPool.ID}, nil
		}
	}
	return nil, err
}
