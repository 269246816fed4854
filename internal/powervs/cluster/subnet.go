package cluster

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// zoneParam of a subnet is the zone that was chosen for it.
const zoneParam = "zone"

// titled looks for what has a title. What another provider has made has none in the ledger: only its ID says which it is.
func titled[T any](find func(context.Context, graph.Key) ([]T, error)) func(context.Context, graph.Key) ([]T, error) {
	return func(ctx context.Context, key graph.Key) ([]T, error) {
		if key.Title == "" {
			return nil, nil
		}
		return find(ctx, key)
	}
}

// withName are those of a list that have a name.
func withName[T any](all []T, err error, name string, of func(T) string) ([]T, error) {
	return slices.DeleteFunc(all, func(one T) bool { return of(one) != name }), err
}

// subnetKind looks for names in the VPC only: other VPCs of the region may have the same.
func subnetKind(api *ibm.Client, service *graph.Service) *graph.Kind[ibm.Subnet] {
	return &graph.Kind[ibm.Subnet]{
		Name: infrav1.KindSubnet, Service: service, Within: []string{infrav1.KindRegion, infrav1.KindVPC},
		ID: func(s *ibm.Subnet) string { return s.ID },
		Get: func(ctx context.Context, id string, in graph.Scope) (*ibm.Subnet, error) {
			return api.Subnet(ctx, in[infrav1.KindRegion], id)
		},
		Find: titled(func(ctx context.Context, key graph.Key) ([]ibm.Subnet, error) {
			all, err := api.Subnets(ctx, key.Scope[infrav1.KindRegion], key.Scope[infrav1.KindVPC])
			return withName(all, err, key.Title, func(s ibm.Subnet) string { return s.Name })
		}),
		Phase: func(s *ibm.Subnet) phases.Phase { return availability(infrav1.KindSubnet, s.Name, s.ID, s.Status) },
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteSubnet(ctx, in[infrav1.KindRegion], id)
		},
	}
}

// wantSubnets adds those of the spec, or one in each zone of the region.
func (r *resources) wantSubnets() {
	for i, spec := range r.object.Spec.VPCSubnets {
		r.wantSubnet(r.object.SubnetName(i), spec)
	}
	if len(r.object.Spec.VPCSubnets) > 0 {
		return
	}
	for _, zone := range r.zones() {
		r.wantSubnet(r.object.SubnetNameIn(zone), infrav1.Subnet{Zone: zone})
	}
}

// keepSubnets lets the subnets that there are stay, and what is for them, while it isn't known which are wanted.
func (r *resources) keepSubnets() {
	const why = "the zones of the region aren't known yet"
	for _, condition := range []string{
		infrav1.VPCSubnetReadyCondition, infrav1.VPCSecurityGroupReadyCondition, infrav1.LoadBalancerReadyCondition,
	} {
		r.graph.Gate(condition, func() phases.Phase { return phases.Waiting(why) }, r.vpc)
	}
	for _, prefix := range []string{subnetKey, groupKey, ruleKey, balancerKey} {
		r.graph.Keep(prefix, why)
	}
}

func (r *resources) wantSubnet(name string, spec infrav1.Subnet) {
	want := graph.Want[ibm.Subnet]{
		Key: subnetKey + cmp.Or(spec.ID, name), Condition: infrav1.VPCSubnetReadyCondition, After: []graph.Ref{r.vpc},
		Claim: claimByName(spec.Name != "", name),
		Create: func(ctx context.Context, key graph.Key) (graph.Call[ibm.Subnet], error) {
			if err := r.awaitRange(ctx, spec.Ipv4CidrBlock, key.Scope); err != nil {
				return nil, err
			}
			region, request := key.Scope[infrav1.KindRegion], ibm.SubnetRequest{
				Name: key.Title, VPCID: key.Scope[infrav1.KindVPC], Zone: key.Params[zoneParam], CIDR: spec.Ipv4CidrBlock, ResourceGroupID: r.groupID(),
			}
			return func(ctx context.Context) (*ibm.Subnet, error) { return r.api.CreateSubnet(ctx, region, request) }, nil
		},
		Choose: func(_ context.Context, existing *ibm.Subnet) (map[string]string, error) {
			switch {
			case existing != nil:
				return map[string]string{zoneParam: existing.Zone.Name}, nil
			case spec.Zone != "":
				return map[string]string{zoneParam: spec.Zone}, nil
			}
			zones := r.zones()
			if len(zones) == 0 {
				return nil, &fault.Error{Class: fault.Busy, Err: fmt.Errorf("the zones of the region aren't known yet")}
			}
			return map[string]string{zoneParam: zones[rand.IntN(len(zones))]}, nil //nolint:gosec // any will do
		},
	}
	want.Update = func(s *ibm.Subnet) graph.Update { return fixedSubnet(s, spec) }
	if spec.ID != "" {
		want.Claim = graph.UseChecked(spec.ID, func(ctx context.Context) (string, error) { return spec.ID, r.checkSubnet(ctx, spec.ID) })
	}
	r.ranged[name] = spec.ID == "" && spec.Ipv4CidrBlock != ""
	r.subnets.add(name, graph.Add(r.graph, r.kinds.Subnet, want))
}

// awaitRange fails while a subnet of ours that has left the spec has some of the addresses: the service would refuse them.
func (r *resources) awaitRange(ctx context.Context, cidr string, in graph.Scope) error {
	wanted, _ := netip.ParsePrefix(cidr)
	if !wanted.IsValid() { // none, so that the service chooses a free one; or it says what is wrong
		return nil
	}
	all, err := r.api.Subnets(ctx, in[infrav1.KindRegion], in[infrav1.KindVPC])
	if err != nil {
		return err
	}
	for _, s := range all {
		is, _ := netip.ParsePrefix(s.CIDR)
		stays := slices.ContainsFunc(r.subnets, func(one namedOne[ibm.Subnet]) bool { return one.handle.ID() == s.ID })
		leaves := !stays && r.graph.Names(infrav1.KindSubnet, s.ID) && !r.graph.IsYours(infrav1.KindSubnet, s.ID)
		if leaves && is.Overlaps(wanted) {
			return &fault.Error{Class: fault.Busy, Err: fmt.Errorf("subnet %s has some of the addresses %s until it is deleted, as it has left the "+
				"spec. A load balancer that names no subnets leaves it when there is another subnet: if there is none, add one to "+
				"spec.vpcSubnets that has other addresses", s.Name, cidr)}
		}
	}
	return nil
}

// fixedSubnet says what of a subnet only a create can set, and is another in the spec: that may have changed before the status showed the
// subnet, and admission refuses it only from then on.
func fixedSubnet(s *ibm.Subnet, spec infrav1.Subnet) (u graph.Update) {
	for _, field := range [][3]string{{"zone", s.Zone.Name, spec.Zone}, {"cidr", s.CIDR, spec.Ipv4CidrBlock}} {
		if is, wanted := field[1], field[2]; wanted != "" && is != wanted {
			u.Changes = append(u.Changes, graph.Change{Field: field[0], From: is, To: wanted})
			u.Refused = fault.Invalidf("subnet %s can't be changed (%s): put back what it was in spec.vpcSubnets, or replace it by one with "+
				"another name", s.Name, u.Changes[0])
		}
	}
	return u
}

// checkSubnet fails if the subnet of the user's own is in another VPC.
func (r *resources) checkSubnet(ctx context.Context, id string) error {
	s, err := r.api.Subnet(ctx, r.object.Region(), id)
	if err != nil {
		return fault.Correct("spec.vpcSubnets", fmt.Errorf("subnet %s: %w", id, err))
	}
	return r.isInVPC("subnet "+s.Name, id, s.VPC.ID, "spec.vpcSubnets")
}

func (r *resources) isInVPC(what, id, vpc, field string) error {
	if vpc == r.vpc.ID() {
		return nil
	}
	return fault.Invalidf("%s (%s) is in VPC %s, and the cluster is in VPC %s: correct %s", what, id, vpc, r.vpc.ID(), field)
}
