package controller

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// Fields that objects are found by in the cache.
const (
	byGroup = "spec.resourceGroup"
	byDPUIP = "spec.dpuIPs" // and the agent that still has it
	byPort  = "status.networkFabricReference.logicalPort"
	byUID   = "metadata.uid"
)

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
	return nil
}

// addresses of the fabric that a resource has to do with.
func addresses(r *resourcev1.ManagedResource) []string {
	var all []string
	for _, ip := range r.Spec.DPUIPs {
		all = append(all, string(ip))
	}
	if at := r.Status.LogicalPortReference; at != nil && at.Agent != "" && !slices.Contains(all, string(at.Agent)) {
		all = append(all, string(at.Agent))
	}
	return all
}

// members of a group, whoever of them is accepted. They are the cache's own: nobody may change them.
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

// neighbours are all resources that share the group or an address of the fabric with this one, which may be among them.
func neighbours(ctx context.Context, c client.Reader, r *resourcev1.ManagedResource, inGroup []resourcev1.ManagedResource) (
	[]resourcev1.ManagedResource, error,
) {
	all := slices.Clone(inGroup)
	for _, ip := range r.Spec.DPUIPs {
		list := &resourcev1.ManagedResourceList{}
		if err := c.List(ctx, list, client.UnsafeDisableDeepCopy, client.MatchingFields{byDPUIP: string(ip)}); err != nil {
			return nil, fmt.Errorf("list the resources with %s: %w", ip, err)
		}
		all = append(all, list.Items...)
	}
	return all, nil
}
