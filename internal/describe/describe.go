// Package describe shows what something consists of as a tree: its Kubernetes objects, what was made for them outside, and why
// they wait. It knows clusters of Cluster API; systems have kinds of their own.
package describe

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/tree"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// Kind is a kind of object that can be described.
type Kind struct {
	// Names of it in small letters, such as "cluster". The first one is that of the help.
	Names []string
	// Shows is the help: what is shown of it.
	Shows string
	// Read returns the tree. The namespace doesn't matter for an object that is in none.
	Read func(ctx context.Context, c client.Client, namespace, name string) (*Object, error)
}

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
	// Apart are the conditions that State doesn't sum up.
	Apart []string `json:"-"`
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

// Cluster is the kind of clusters of Cluster API. The groups are those of the ledgers of all systems.
func Cluster(ledgerGroups ...string) Kind {
	return Kind{
		Names: []string{"cluster"},
		Shows: `the objects of a Cluster API cluster. Below each stands what was made for it outside Kubernetes, with its ID
there. What is yours and only used, and so never deleted, is marked "(yours)". "(pending)" means that
its creation was requested and its ID isn't known yet`,
		Read: func(ctx context.Context, c client.Client, namespace, name string) (*Object, error) {
			return cluster(ctx, c, ledgerGroups, namespace, name)
		},
	}
}

func cluster(ctx context.Context, c client.Client, ledgerGroups []string, namespace, name string) (*Object, error) {
	found, err := tree.Discovery(ctx, c, namespace, name, tree.DiscoverOptions{Echo: true})
	if err != nil {
		return nil, fmt.Errorf("read Cluster %s/%s: %w", namespace, name, err)
	}
	byName := map[string]*ledgerv1.Ledger{}
	for _, group := range ledgerGroups {
		if err := readLedgers(ctx, c, group, namespace, byName); err != nil {
			return nil, err
		}
	}
	return read(found, found.GetRoot(), byName), nil
}

// Outside is what the ledger of an object says was made or taken for it outside.
func Outside(ctx context.Context, c client.Client, group, kind string, object client.Object) ([]ledgers.Resource, error) {
	byName := map[string]*ledgerv1.Ledger{}
	if err := readLedgers(ctx, c, group, object.GetNamespace(), byName); err != nil {
		return nil, err
	}
	return ledgers.Resources(byName[ledgerv1.Name(kind, object.GetName())]), nil
}

// readLedgers adds the ledgers of one group, which the management cluster may not know. A scheme knows the Go type in one group only.
func readLedgers(ctx context.Context, c client.Client, group, namespace string, byName map[string]*ledgerv1.Ledger) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: ledgerv1.Version, Kind: "LedgerList"})
	err := c.List(ctx, list, client.InNamespace(namespace))
	if err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("list the ledgers of namespace %s: %w", namespace, err)
	}
	for _, item := range list.Items {
		ledger := &ledgerv1.Ledger{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, ledger); err != nil {
			return fmt.Errorf("read ledger %s/%s: %w", namespace, item.GetName(), err)
		}
		byName[ledger.Name] = ledger
	}
	return nil
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

// Waiting are the conditions that say why an object isn't as wanted. Where it is, only those are left that are no part of that.
func (o *Object) Waiting() []metav1.Condition {
	if o.State == nil {
		return nil
	}
	wanted := o.State.Status == metav1.ConditionTrue
	var reasons []metav1.Condition
	for _, c := range o.Conditions {
		sums := c.Type == o.State.Type || c.Type == clusterv1.ReadyCondition || wanted && !slices.Contains(o.Apart, c.Type)
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
