package controller

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/membership"
)

// Fields that objects are found by in the cache.
const (
	byGroup = "spec.resourceGroup"
	byDPUIP = "spec.dpuIPs" // and the others of addresses
	byPort  = "status.networkFabricReference.logicalPort"
	byLack  = "status.hostAccessIPs.publicIP" // that should exist and doesn't
	byUID   = "metadata.uid"
	// of PublicIPs
	byAddress = "spec.ipAddress"
	byHolder  = "status.managedResource.uid"
)

const lacking = "lacking"

// Index what the controllers and the webhooks look up.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	resource := func(values func(*resourcev1.ManagedResource) []string) client.IndexerFunc {
		return func(object client.Object) []string { return values(object.(*resourcev1.ManagedResource)) }
	}
	for field, values := range map[string]func(*resourcev1.ManagedResource) []string{
		byGroup: func(r *resourcev1.ManagedResource) []string { return []string{r.Spec.ResourceGroup} },
		byDPUIP: addresses,
		byPort: func(r *resourcev1.ManagedResource) []string {
			if at := r.Status.LogicalPortReference; at != nil {
				return []string{at.LogicalPort}
			}
			return nil
		},
		byLack: func(r *resourcev1.ManagedResource) []string {
			has := r.Status.HostAccessIPs
			if r.Spec.HostAccess == resourcev1.PublicAccess && (has == nil || has.PublicIP == "") {
				return []string{lacking}
			}
			return nil
		},
	} {
		if err := indexer.IndexField(ctx, &resourcev1.ManagedResource{}, field, resource(values)); err != nil {
			return fmt.Errorf("index %s: %w", field, err)
		}
	}
	if err := indexer.IndexField(ctx, &resourcev1.ResourceGroup{}, byUID, func(object client.Object) []string {
		return []string{string(object.GetUID())}
	}); err != nil {
		return fmt.Errorf("index %s: %w", byUID, err)
	}
	for field, value := range map[string]func(*networkfabricv1.PublicIP) []string{
		byAddress: func(ip *networkfabricv1.PublicIP) []string { return []string{string(ip.Spec.IPAddress)} },
		byHolder: func(ip *networkfabricv1.PublicIP) []string {
			if of := ip.Status.ManagedResource; of != nil {
				return []string{string(of.UID)}
			}
			return nil
		},
	} {
		if err := indexer.IndexField(ctx, &networkfabricv1.PublicIP{}, field, func(object client.Object) []string {
			return value(object.(*networkfabricv1.PublicIP))
		}); err != nil {
			return fmt.Errorf("index %s: %w", field, err)
		}
	}
	return nil
}

// addresses of the fabric that concern a resource: those that it asks for, those that its DPU may answer for because of it, and
// the DPU's own.
func addresses(r *resourcev1.ManagedResource) []string {
	ips := slices.Concat(r.Spec.DPUIPs, membership.Reached(r), r.Status.DPUAddresses)
	if at := r.Status.LogicalPortReference; at != nil && at.Agent != "" {
		ips = append(ips, at.Agent)
	}
	slices.Sort(ips)
	all := make([]string, 0, len(ips))
	for _, ip := range slices.Compact(ips) {
		all = append(all, string(ip))
	}
	return all
}

// members of a group, accepted or not. They are the cache's own and must not be changed.
func members(ctx context.Context, c client.Reader, group types.NamespacedName) ([]resourcev1.ManagedResource, error) {
	list := &resourcev1.ManagedResourceList{}
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy, client.InNamespace(group.Namespace),
		client.MatchingFields{byGroup: group.Name}); err != nil {
		return nil, fmt.Errorf("list the members of ResourceGroup %s: %w", group, err)
	}
	return list.Items, nil
}

// Neighbours are all resources that share the group or an address of the fabric with this one, which may be among them. The
// reader has the controllers' indexes.
func Neighbours(ctx context.Context, c client.Reader, r *resourcev1.ManagedResource) ([]resourcev1.ManagedResource, error) {
	inGroup, err := members(ctx, c, types.NamespacedName{Namespace: r.Namespace, Name: r.Spec.ResourceGroup})
	if err != nil {
		return nil, err
	}
	return neighbours(ctx, c, r, inGroup)
}

// WithFabricIP are the resources for whose hosts an address of the fabric is kept, or whose DPU has it. The reader has the
// controllers' indexes.
func WithFabricIP(ctx context.Context, c client.Reader, ip resourcev1.IPAddress) ([]resourcev1.ManagedResource, error) {
	list := &resourcev1.ManagedResourceList{}
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy, client.MatchingFields{byDPUIP: string(ip)}); err != nil {
		return nil, fmt.Errorf("list the resources with %s: %w", ip, err)
	}
	return list.Items, nil
}

// PublicIPsWith an address. The reader has the controllers' indexes.
func PublicIPsWith(ctx context.Context, c client.Reader, ip resourcev1.IPAddress) ([]networkfabricv1.PublicIP, error) {
	list := &networkfabricv1.PublicIPList{}
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy, client.MatchingFields{byAddress: string(ip)}); err != nil {
		return nil, fmt.Errorf("list the PublicIPs with %s: %w", ip, err)
	}
	return list.Items, nil
}

// neighbours are all resources that share the group or an address of the fabric with this one, which may be among them.
func neighbours(ctx context.Context, c client.Reader, r *resourcev1.ManagedResource, inGroup []resourcev1.ManagedResource) (
	[]resourcev1.ManagedResource, error,
) {
	all := slices.Clip(inGroup) // almost always these are all, and they are large
	for _, ip := range addresses(r) {
		sharing, err := WithFabricIP(ctx, c, resourcev1.IPAddress(ip))
		if err != nil {
			return nil, err
		}
		for i := range sharing {
			if !contains(all, sharing[i].UID) {
				all = append(all, sharing[i])
			}
		}
	}
	return all, nil
}

func contains(all []resourcev1.ManagedResource, uid types.UID) bool {
	for i := range all {
		if all[i].UID == uid {
			return true
		}
	}
	return false
}
