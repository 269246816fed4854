package controller

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

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

// underlays are the own addresses of all DPUs, sorted. Every group has to know them, and to find them out means to look at all
// hosts. So they are remembered until one changes.
type underlays struct {
	client.Reader
	changed atomic.Bool

	mutex sync.Mutex
	known []netip.Addr
	found bool
}

// all of them. They must not be changed.
func (u *underlays) all(ctx context.Context) ([]netip.Addr, error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if !u.changed.Swap(false) && u.found { // before it looks: what changes meanwhile is looked for again
		return u.known, nil
	}
	var err error
	u.known, err = lookUnderlays(ctx, u.Reader)
	u.found = err == nil
	return u.known, err
}

func lookUnderlays(ctx context.Context, c client.Reader) ([]netip.Addr, error) {
	list := &resourcev1.ManagedResourceList{}
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ManagedResources: %w", err)
	}
	var all []netip.Addr
	for i := range list.Items {
		for _, ip := range list.Items[i].Status.DPUAddresses {
			all = append(all, address(ip))
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all), nil
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
