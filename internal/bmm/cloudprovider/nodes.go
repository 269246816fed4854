package cloudprovider

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/bedplate/bedplate/internal/bmm/providerid"
)

const byProviderID = "byProviderID"

func providerIDOf(object any) ([]string, error) {
	node, ok := object.(*corev1.Node)
	if !ok || node.Spec.ProviderID == "" {
		return nil, nil
	}
	return []string{node.Spec.ProviderID}, nil
}

// slim drops most of a Node, which isn't read here. The controllers write back nothing of it: an update of a Node
// doesn't change its status, and patches say only what has changed.
func slim(object any) (any, error) {
	if node, ok := object.(*corev1.Node); ok {
		node.ManagedFields, node.Status.Images = nil, nil
	}
	return object, nil
}

// nodes are those of the cluster in the cache.
type nodes struct{ indexer cache.Indexer }

// of an instance.
func (n nodes) of(id providerid.ProviderID) (found []*corev1.Node) {
	if n.indexer == nil {
		return nil
	}
	objects, err := n.indexer.ByIndex(byProviderID, id.String())
	if err != nil { // there is no such index
		return nil
	}
	for _, object := range objects {
		if node, ok := object.(*corev1.Node); ok {
			found = append(found, node)
		}
	}
	return found
}

// concerned are the nodes that a change is about: those of the instance, and one of its name that waits for it. If the site has
// changed, all that wait.
func (n nodes) concerned(is change) []*corev1.Node {
	found := n.of(providerid.ProviderID{SiteID: is.siteID, InstanceID: is.instanceID})
	var objects []any
	if is == (change{}) {
		objects = n.indexer.List()
	} else if object, exists, err := n.indexer.GetByKey(is.name); err == nil && exists {
		objects = []any{object}
	}
	for _, object := range objects {
		if node, ok := object.(*corev1.Node); ok && uninitialized(node) && !slices.Contains(found, node) {
			found = append(found, node)
		}
	}
	return found
}

// has reports whether there still is this node, and not another one of its name.
func (n nodes) has(node *corev1.Node) bool {
	object, exists, err := n.indexer.GetByKey(node.Name)
	known, ok := object.(*corev1.Node)
	return err == nil && exists && ok && known.UID == node.UID
}

// uninitialized is a node that no cloud provider has initialised yet.
func uninitialized(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == cloudproviderapi.TaintExternalCloudProvider {
			return true
		}
	}
	return false
}
