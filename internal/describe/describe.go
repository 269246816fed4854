// Package describe shows a cluster, or a network of a tenant's, as a tree: its Kubernetes objects, what was made for them
// outside, and why they wait.
package describe

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/tree"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// Object is a node of the tree.
type Object struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Role of the object in its cluster, such as ClusterInfrastructure; may be empty.
	Role string `json:"role,omitempty"`
	// State is the condition that sums up the object; nil for a mere heading.
	State *metav1.Condition `json:"state,omitempty"`
	// Conditions are all of the object's own, sorted by type.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Outside is what was made or taken for the object outside Kubernetes.
	Outside []ledgers.Resource `json:"outside,omitempty"`
	// Details are what else there is to know of the object.
	Details  []Detail  `json:"details,omitempty"`
	Children []*Object `json:"children,omitempty"`
}

// Detail is one thing to know of an object, such as its address.
type Detail struct {
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
	// Time that it is about; nil if it is about none.
	Time *metav1.Time `json:"time,omitempty"`
}

// Cluster reads the tree of a cluster.
func Cluster(ctx context.Context, c client.Client, namespace, name string) (*Object, error) {
	found, err := tree.Discovery(ctx, c, namespace, name, tree.DiscoverOptions{Echo: true})
	if err != nil {
		return nil, fmt.Errorf("read Cluster %s/%s: %w", namespace, name, err)
	}
	ledgers := &ledgerv1.LedgerList{}
	if err := c.List(ctx, ledgers, client.InNamespace(namespace)); err != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("list the ledgers of namespace %s: %w", namespace, err)
	}
	byName := map[string]*ledgerv1.Ledger{}
	for i := range ledgers.Items {
		byName[ledgers.Items[i].Name] = &ledgers.Items[i]
	}
	return read(found, found.GetRoot(), byName), nil
}

func read(t *tree.ObjectTree, object client.Object, byName map[string]*ledgerv1.Ledger) *Object {
	o := &Object{
		Kind: object.GetObjectKind().GroupVersionKind().Kind, Name: object.GetName(), Role: tree.GetMetaName(object),
		State: cmp.Or(tree.GetAvailableCondition(object), tree.GetReadyCondition(object)),
	}
	if !tree.IsVirtualObject(object) {
		o.Conditions = slices.Clone(tree.GetConditions(object))
		o.Outside = ledgers.Resources(byName[ledgerv1.Name(o.Kind, o.Name)])
	}
	slices.SortFunc(o.Conditions, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	children := t.GetObjectsByParent(object.GetUID())
	slices.SortStableFunc(children, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.GetName(), b.GetName()))
	})
	for _, child := range children {
		o.Children = append(o.Children, read(t, child, byName))
	}
	return o
}

// rank orders the children of an object as a cluster comes up: its infrastructure, its control plane, its workers.
func rank(object client.Object) int {
	switch {
	case tree.GetMetaName(object) == "ClusterInfrastructure" || tree.GetMetaName(object) == "MachineInfrastructure":
		return 0
	case tree.IsVirtualObject(object):
		return 2
	}
	return 1
}

// waiting are the conditions that say why an object isn't as wanted. Where it is, only those are left that are no part of that.
func (o *Object) waiting() []metav1.Condition {
	if o.State == nil {
		return nil
	}
	wanted := o.State.Status == metav1.ConditionTrue
	var reasons []metav1.Condition
	for _, c := range o.Conditions {
		sums := c.Type == o.State.Type || c.Type == clusterv1.ReadyCondition || wanted && c.Type != resourcev1.PropagatedCondition
		if !sums && c.Status != metav1.ConditionTrue && c.Message != "" && !saysNoIsGood(c.Type) {
			reasons = append(reasons, c)
		}
	}
	return reasons
}

// saysNoIsGood is true of Cluster API's conditions that are False when nothing is going on.
func saysNoIsGood(condition string) bool {
	return slices.Contains([]string{
		clusterv1.PausedCondition, clusterv1.DeletingCondition, clusterv1.RollingOutCondition, clusterv1.ScalingUpCondition,
		clusterv1.ScalingDownCondition, clusterv1.RemediatingCondition, clusterv1.MachineUpdatingCondition,
	}, condition)
}
