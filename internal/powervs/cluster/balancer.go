package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// balancerKind looks for names in the VPC only. A load balancer says no more than its subnets of where it is.
func balancerKind(api *ibm.Client, service *graph.Service) *graph.Kind[ibm.LoadBalancer] {
	return &graph.Kind[ibm.LoadBalancer]{
		Name: infrav1.KindLoadBalancer, Service: service, Within: []string{infrav1.KindRegion, infrav1.KindVPC},
		ID: func(b *ibm.LoadBalancer) string { return b.ID },
		Get: func(ctx context.Context, id string, in graph.Scope) (*ibm.LoadBalancer, error) {
			return api.LoadBalancer(ctx, in[infrav1.KindRegion], id)
		},
		Find: titled(func(ctx context.Context, key graph.Key) ([]ibm.LoadBalancer, error) {
			all, err := api.LoadBalancers(ctx, key.Scope[infrav1.KindRegion])
			found, err := withName(all, err, key.Title, func(b ibm.LoadBalancer) string { return b.Name })
			if err != nil || len(found) == 0 {
				return nil, err
			}
			subnets, err := api.Subnets(ctx, key.Scope[infrav1.KindRegion], key.Scope[infrav1.KindVPC])
			in := ids(subnets, func(s ibm.Subnet) string { return s.ID })
			return slices.DeleteFunc(found, func(b ibm.LoadBalancer) bool {
				return !slices.ContainsFunc(b.Subnets, func(s ibm.Reference) bool { return slices.Contains(in, s.ID) })
			}), err
		}),
		Phase: balancerPhase,
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteLoadBalancer(ctx, in[infrav1.KindRegion], id)
		},
	}
}

func ids[T any](all []T, id func(T) string) (ids []string) {
	for _, one := range all {
		ids = append(ids, id(one))
	}
	slices.Sort(ids)
	return ids
}

// balancerPhase: one that gets another member works meanwhile.
func balancerPhase(b *ibm.LoadBalancer) phases.Phase {
	switch b.Status {
	case ibm.BalancerActive, "update_pending":
		return phases.Ready()
	case "delete_pending":
		return phases.Deleting()
	case "failed":
		return phases.Failed("load balancer %s (%s) is in status failed: delete it to get another one, or ask IBM's support", b.Name, b.ID)
	}
	return phases.Waiting("load balancer %s is in status %s", b.Name, b.Status)
}

// wantBalancers adds those of the spec, or a public one.
func (r *resources) wantBalancers() {
	for i, spec := range r.object.Spec.LoadBalancers {
		r.wantBalancer(r.object.LoadBalancerName(i), spec)
	}
	if len(r.object.Spec.LoadBalancers) == 0 {
		r.wantBalancer(r.object.DefaultLoadBalancerName(), infrav1.VPCLoadBalancerSpec{})
	}
}

func (r *resources) wantBalancer(name string, spec infrav1.VPCLoadBalancerSpec) {
	public, key := ptr.Deref(spec.Public, true), balancerKey+cmp.Or(spec.ID, name)
	want := graph.Want[ibm.LoadBalancer]{
		Key: key, Condition: infrav1.LoadBalancerReadyCondition, After: r.aroundBalancer(key, spec),
		Claim: claimByName(spec.Name != "", name),
		Create: func(ctx context.Context, key graph.Key) (graph.Call[ibm.LoadBalancer], error) {
			subnets, err := r.subnetIDs(ctx, spec.Subnets)
			if err != nil {
				return nil, err
			}
			groups, err := r.groupIDs(ctx, spec.SecurityGroups)
			if err != nil {
				return nil, err
			}
			request := ibm.LoadBalancerRequest{
				Name: key.Title, Public: public, ResourceGroupID: r.groupID(), SubnetIDs: subnets, SecurityGroupIDs: groups,
			}
			request.Pools, request.Listeners = portsOf(spec, APIPort(r.owner, r.object))
			region := key.Scope[infrav1.KindRegion]
			return func(ctx context.Context) (*ibm.LoadBalancer, error) {
				return r.api.CreateLoadBalancer(ctx, region, request)
			}, nil
		},
	}
	compareWithSpec(r, &want, fmt.Sprintf("load balancer %s was made by an entry of spec.loadBalancers that was changed meanwhile, and it "+
		"can't be changed: put back what it was, or replace it by one with another name", name), alike(spec)...)
	made := want.Update
	want.Update = func(b *ibm.LoadBalancer) graph.Update {
		if u := made(b); u.Refused != nil || len(spec.Subnets) > 0 {
			return u
		}
		return r.moveBalancer(b) // they are those of the cluster, which change
	}
	if spec.ID != "" {
		want.Claim = graph.UseChecked(spec.ID, func(ctx context.Context) (string, error) { return spec.ID, r.checkBalancer(ctx, spec.ID) })
		want.Choose, want.Update = nil, nil
	}
	handle := graph.Add(r.graph, r.kinds.Balancer, want)
	if r.balancers.add(name, handle); public {
		r.public = handle
	}
}

// checkBalancer fails if the load balancer of the user's own is in another VPC: it is where its subnets are.
func (r *resources) checkBalancer(ctx context.Context, id string) error {
	b, err := r.api.LoadBalancer(ctx, r.object.Region(), id)
	if err != nil {
		return fault.Correct("spec.loadBalancers", fmt.Errorf("load balancer %s: %w", id, err))
	}
	if len(b.Subnets) == 0 {
		return nil
	}
	s, err := r.api.Subnet(ctx, r.object.Region(), b.Subnets[0].ID)
	if err != nil {
		return err
	}
	return r.isInVPC("load balancer "+b.Name, id, s.VPC.ID, "spec.loadBalancers")
}

// moveBalancer puts a load balancer into all subnets of the cluster: one that leaves the spec can't be deleted as long as it is in it.
// Those that may wait for that come later.
func (r *resources) moveBalancer(b *ibm.LoadBalancer) graph.Update {
	var wanted []string
	for _, s := range r.subnets {
		switch o := s.handle.Object(); {
		case o != nil && r.kinds.Subnet.Phase(o).State == phases.StateReady:
			wanted = append(wanted, o.ID)
		case r.comesFirst(s):
			return graph.Update{}
		}
	}
	slices.Sort(wanted)
	has := ids(b.Subnets, func(s ibm.Reference) string { return s.ID })
	if len(wanted) == 0 || slices.Equal(has, wanted) {
		return graph.Update{}
	}
	return graph.Update{
		Changes: []graph.Change{{Field: "subnets", From: strings.Join(has, ", "), To: strings.Join(wanted, ", ")}},
		Apply:   func(ctx context.Context) error { return r.api.MoveLoadBalancer(ctx, r.object.Region(), b.ID, wanted) },
	}
}

// comesFirst reports whether a subnet exists, or will without a certain range: for that it may wait until a load balancer leaves another.
func (r *resources) comesFirst(s namedOne[ibm.Subnet]) bool {
	return s.handle.ID() != "" || !r.ranged[s.name]
}

// aroundBalancer are the VPC, and what a load balancer is put into. One that exists comes after the subnets that come first, if
// there are any. Until these are there it stays where it is, and so does what it is in. The user's own is where the user has put it.
func (r *resources) aroundBalancer(key string, spec infrav1.VPCLoadBalancerSpec) []graph.Ref {
	after, id := []graph.Ref{r.vpc}, r.graph.ID(key)
	inAll := len(spec.Subnets) == 0 && spec.ID == "" && !r.graph.IsYours(infrav1.KindLoadBalancer, id)
	moves := id != "" && slices.ContainsFunc(r.subnets, r.comesFirst)
	for _, s := range r.subnets {
		named := slices.ContainsFunc(spec.Subnets, func(v infrav1.VPCResource) bool { return isOne(v, s.name, s.handle) })
		if named || inAll && (r.comesFirst(s) || !moves) {
			after = append(after, s.handle)
		}
	}
	for _, g := range r.groups {
		if slices.ContainsFunc(spec.SecurityGroups, func(v infrav1.VPCResource) bool { return isOne(v, g.name, g.handle) }) {
			after = append(after, g.handle)
		}
	}
	return after
}

func isOne[T any](v infrav1.VPCResource, name string, handle *graph.Handle[T]) bool {
	return v.Name != "" && v.Name == name || v.ID != "" && v.ID == handle.ID()
}

// subnetIDs are those of the subnets that a load balancer is put into: of the cluster, or others of the VPC.
func (r *resources) subnetIDs(ctx context.Context, specs []infrav1.VPCResource) (in []string, _ error) {
	if len(specs) == 0 {
		for _, s := range r.subnets {
			in = append(in, s.handle.ID())
		}
		return in, nil
	}
	return r.resolve(ctx, specs, "subnet", func(ctx context.Context) (map[string]string, error) {
		all, err := r.api.Subnets(ctx, r.object.Region(), r.vpc.ID())
		byName := map[string]string{}
		for _, s := range all {
			byName[s.Name] = s.ID
		}
		return byName, err
	})
}

func (r *resources) groupIDs(ctx context.Context, specs []infrav1.VPCResource) ([]string, error) {
	return r.resolve(ctx, specs, "security group", func(ctx context.Context) (map[string]string, error) {
		all, err := r.api.SecurityGroups(ctx, r.object.Region(), r.vpc.ID())
		byName := map[string]string{}
		for _, g := range all {
			byName[g.Name] = g.ID
		}
		return byName, err
	})
}

// resolve names by a list, which is read only if there are names.
func (r *resources) resolve(
	ctx context.Context, specs []infrav1.VPCResource, what string, list func(context.Context) (map[string]string, error),
) (found []string, err error) {
	var byName map[string]string
	for _, spec := range specs {
		if spec.ID != "" {
			found = append(found, spec.ID)
			continue
		}
		if byName == nil {
			if byName, err = list(ctx); err != nil {
				return nil, err
			}
		}
		id, is := byName[spec.Name]
		if !is {
			return nil, fault.Invalidf("VPC %s has no %s %q: correct spec.loadBalancers", r.vpc.ID(), what, spec.Name)
		}
		found = append(found, id)
	}
	return found, nil
}

// portsOf are the listeners of a load balancer, that of the API server among them, with their pools.
func portsOf(spec infrav1.VPCLoadBalancerSpec, apiPort int64) (pools []ibm.PoolRequest, listeners []ibm.ListenerRequest) {
	for _, p := range spec.BackendPools {
		m := p.HealthMonitor
		pools = append(pools, ibm.PoolRequest{
			Name: p.Name, Algorithm: string(p.Algorithm), Protocol: string(p.Protocol), HealthMonitor: ibm.HealthMonitor{
				Type: string(m.Type), Delay: m.Delay, Timeout: m.Timeout, Retries: m.Retries, Port: m.Port, URLPath: m.URLPath,
			},
		})
	}
	all := spec.AdditionalListeners
	if !slices.ContainsFunc(all, func(l infrav1.AdditionalListenerSpec) bool { return l.Port == apiPort }) {
		all = append([]infrav1.AdditionalListenerSpec{{Port: apiPort}}, all...)
	}
	for _, l := range all {
		protocol := string(cmp.Or(l.Protocol, infrav1.LoadBalancerProtocolTCP))
		pool := l.PoolName()
		if !slices.ContainsFunc(pools, func(p ibm.PoolRequest) bool { return p.Name == pool }) {
			pools = append(pools, ibm.PoolRequest{
				Name: pool, Algorithm: string(infrav1.LoadBalancerRoundRobin), Protocol: protocol,
				HealthMonitor: ibm.HealthMonitor{Type: string(infrav1.LoadBalancerHealthTCP), Delay: 5, Timeout: 2, Retries: 2},
			})
		}
		listeners = append(listeners, ibm.ListenerRequest{Port: l.Port, Protocol: protocol, DefaultPool: ibm.Reference{Name: pool}})
	}
	return pools, listeners
}

// alike are the entries that make the same load balancer, the given one first. The name may be that of the place. The API server adds
// public to an entry, and nothing does to the default one.
func alike(spec infrav1.VPCLoadBalancerSpec) []any {
	spec.Name = ""
	if !ptr.Deref(spec.Public, true) {
		return []any{spec}
	}
	without, with := spec, spec
	without.Public, with.Public = nil, ptr.To(true)
	return []any{spec, without, with}
}
