package controller

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// +kubebuilder:rbac:groups=networkfabric.bedplate.dev,resources=fabricpolicies,verbs=get;list;watch

// site is what holds for the networks of all tenants, with the addresses of all DPUs: those whose agents have said what addresses
// they have. What a tenant merely writes keeps nobody away from anything.
func site(ctx context.Context, c client.Reader, underlay []netip.Addr) (topology.Site, error) {
	policy := &networkfabricv1.FabricPolicy{}
	err := c.Get(ctx, client.ObjectKey{Name: networkfabricv1.FabricPolicyName}, policy)
	if client.IgnoreNotFound(err) != nil {
		return topology.Site{}, fmt.Errorf("get FabricPolicy %s: %w", networkfabricv1.FabricPolicyName, err)
	}
	return topology.Site{
		FabricPrefixes: prefixes(policy.Spec.FabricPrefixes), Denied: prefixes(policy.Spec.DeniedPrefixes),
		Shared: prefixes(policy.Spec.SharedServices), Underlay: underlay,
	}, nil
}

// underlayAge is how long the address of a DPU that has gone may still be kept from hosts. It is no hurry: to take it away is a
// change for all DPUs, and often it comes back, with another host.
const underlayAge = time.Minute

// underlays are the own addresses of all DPUs, sorted. Every group has to know them, and to find them out means to look at all
// hosts. So they are remembered until there is a new one.
type underlays struct {
	client.Reader
	now     func() time.Time
	changed atomic.Bool

	mutex  sync.Mutex
	known  []netip.Addr
	looked time.Time
}

// all of them. They must not be changed.
func (u *underlays) all(ctx context.Context) ([]netip.Addr, error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	changed := u.changed.Swap(false) // before it looks: what changes meanwhile is looked for again
	now := u.now()
	if !changed && now.Sub(u.looked) < underlayAge {
		return u.known, nil
	}
	u.looked = time.Time{}
	known, err := lookUnderlays(ctx, u.Reader)
	if err == nil {
		u.known, u.looked = known, now
	}
	return known, err
}

func lookUnderlays(ctx context.Context, c client.Reader) ([]netip.Addr, error) {
	list := &resourcev1.ManagedResourceList{}
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ManagedResources: %w", err)
	}
	return ascending(dpuAddressesOf(list.Items)), nil
}

// dpuAddressesOf hosts, as their agents have said them.
func dpuAddressesOf(hosts []resourcev1.ManagedResource) (all []netip.Addr) {
	for i := range hosts {
		for _, ip := range hosts[i].Status.DPUAddresses {
			all = append(all, address(ip))
		}
	}
	return all
}

// ascending sorts addresses in place, each of them once.
func ascending(all []netip.Addr) []netip.Addr {
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// prefixes that the API server has checked.
func prefixes(all []resourcev1.IPPrefix) []netip.Prefix {
	var parsed []netip.Prefix
	for _, text := range all {
		if p, err := netip.ParsePrefix(string(text)); err == nil {
			parsed = append(parsed, p)
		}
	}
	return parsed
}
