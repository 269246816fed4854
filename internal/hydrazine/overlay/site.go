package overlay

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// Policy of the site, which is empty if there is none.
func Policy(ctx context.Context, c client.Reader) (*networkfabricv1.FabricPolicy, error) {
	policy := &networkfabricv1.FabricPolicy{}
	err := c.Get(ctx, client.ObjectKey{Name: networkfabricv1.FabricPolicyName}, policy)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get FabricPolicy %s: %w", networkfabricv1.FabricPolicyName, err)
	}
	return policy, nil
}

// LookAtSite returns what applies to the networks of all tenants, with the addresses of all DPUs whose agents have reported. What a
// tenant merely writes blocks no host.
func LookAtSite(ctx context.Context, c client.Reader, underlay []netip.Addr) (topology.Site, error) {
	policy, err := Policy(ctx, c)
	if err != nil {
		return topology.Site{}, err
	}
	site := topology.Site{
		FabricPrefixes: prefixes(policy.Spec.FabricPrefixes), Denied: prefixes(policy.Spec.DeniedPrefixes),
		Shared: prefixes(policy.Spec.SharedServices), Underlay: underlay, DPUs: prefixes(policy.Spec.DPUPrefixes),
	}
	if policy.Spec.DHCPServers != nil {
		site.DHCPServers = []netip.Addr{} // an empty list allows none
	}
	for _, ip := range policy.Spec.DHCPServers {
		site.DHCPServers = append(site.DHCPServers, Address(ip))
	}
	return site, nil
}

// IsDPUs reports whether an address is in one of dpuPrefixes: these have nothing but DPUs' own addresses.
func IsDPUs(policy *networkfabricv1.FabricPolicy, a netip.Addr) bool {
	return slices.ContainsFunc(prefixes(policy.Spec.DPUPrefixes), func(n netip.Prefix) bool { return n.Contains(a) })
}

// IsReserved reports whether an address is in one of reservedPrefixes: a gateway, say, which is no host's.
func IsReserved(policy *networkfabricv1.FabricPolicy, a netip.Addr) bool {
	return slices.ContainsFunc(prefixes(policy.Spec.ReservedPrefixes), func(n netip.Prefix) bool { return n.Contains(a) })
}

// IsShared reports whether an address is a shared service's. A shared network that has the host's DPU too has more than
// services.
func IsShared(policy *networkfabricv1.FabricPolicy, a, dpu netip.Addr) bool {
	return slices.ContainsFunc(prefixes(policy.Spec.SharedServices), func(n netip.Prefix) bool { return n.Contains(a) && !n.Contains(dpu) })
}

// Underlay returns the own addresses of all DPUs, in order.
func Underlay(ctx context.Context, c client.Reader) ([]netip.Addr, error) {
	list := &resourcev1.ManagedResourceList{}
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ManagedResources: %w", err)
	}
	return Ascending(DPUAddresses(list.Items)), nil
}

// DPUAddresses are the own addresses of the hosts' DPUs, as the certificates of their agents have them.
func DPUAddresses(hosts []resourcev1.ManagedResource) (all []netip.Addr) {
	for i := range hosts {
		for _, ip := range hosts[i].Status.DPUAddresses {
			all = append(all, Address(ip))
		}
	}
	return all
}

// Ascending sorts addresses in place, each of them once.
func Ascending(all []netip.Addr) []netip.Addr {
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
