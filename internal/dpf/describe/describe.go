// Package describe shows the installation of DPF: its components, its DPU clusters, and the nodes whose network is moved. It asks the host
// cluster only.
package describe

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/describe"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
)

// Kinds that can be described.
var Kinds = []describe.Kind{{
	Names: []string{"dpf", "dpfoperatorconfig"}, Read: installation,
	Shows: `a DPFOperatorConfig: its components, its DPU clusters, and its nodes with the phases of their network's move.
Those that aren't well come first`,
}}

// maxLeft of what isn't as it was before is shown.
const maxLeft = 10

func installation(ctx context.Context, c client.Client, namespace, name string) (*describe.Object, error) {
	config := &operatorv1.DPFOperatorConfig{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, config); err != nil {
		return nil, fmt.Errorf("read DPFOperatorConfig %s/%s: %w", namespace, name, err)
	}
	root := &describe.Object{Kind: "DPFOperatorConfig", Name: name, Conditions: slices.Clone(config.Status.Conditions)}
	slices.SortFunc(root.Conditions, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	if root.State = meta.FindStatusCondition(root.Conditions, operatorv1.ReadyCondition); root.State == nil { // not reconciled yet
		root.State = &metav1.Condition{Type: operatorv1.ReadyCondition, Status: metav1.ConditionUnknown}
	}
	if at := config.DeletionTimestamp; at != nil {
		root.Details = append(root.Details, describe.Detail{Name: "deleted", Time: at})
	}
	if config.Spec.Paused {
		root.Details = append(root.Details, describe.Detail{Name: "paused"})
	}
	left, err := hostnetwork.Move{Client: c, Uncached: c}.Left(ctx)
	if err != nil {
		return nil, err
	}
	for _, what := range left[:min(len(left), maxLeft)] {
		root.Details = append(root.Details, describe.Detail{Name: "changed", Text: what})
	}
	if more := len(left) - maxLeft; more > 0 {
		root.Details = append(root.Details, describe.Detail{Name: "changed", Text: fmt.Sprintf("and %d more", more)})
	}
	if root.Children, err = parts(ctx, c); err != nil {
		return nil, err
	}
	for _, cluster := range config.Status.DPUClusters {
		root.Children = append(root.Children, part("DPUCluster", cluster.Namespace+"/"+cluster.Name, cluster.Reachable, "", cluster.Message))
	}
	root.Children = append(root.Children, nodes(config)...)
	return root, nil
}

// part of the installation. What is waited for has the time from when on.
func part(kind, name string, ready bool, reason, message string) *describe.Object {
	state := &metav1.Condition{Type: operatorv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if ready {
		state.Status = metav1.ConditionTrue
	}
	return &describe.Object{Kind: kind, Name: name, State: state}
}

// parts are the components, of the kinds that can be waited for. A kind that isn't served has none.
func parts(ctx context.Context, c client.Client) (all []*describe.Object, _ error) {
	for _, kind := range []schema.GroupVersionKind{
		appsv1.SchemeGroupVersion.WithKind("Deployment"), appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
		svcv1.GroupVersion.WithKind("DPUService"),
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := c.List(ctx, list, client.InNamespace(operatorv1.Namespace), components.Members)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the components: %w", err)
		}
		for i := range list.Items {
			why, err := components.Waiting(&list.Items[i])
			if err != nil {
				return nil, err
			}
			all = append(all, part(kind.Kind, list.Items[i].GetName(), why == "", "", why))
		}
	}
	return wellLast(all), nil
}

func nodes(config *operatorv1.DPFOperatorConfig) (all []*describe.Object) {
	well := operatorv1.NodeReady
	if !config.DeletionTimestamp.IsZero() || config.Spec.HostNetworkConfiguration == nil {
		well = operatorv1.NodeRestored
	}
	for _, node := range config.Status.Nodes {
		o := part("Node", node.Name, node.Phase == well, string(node.Phase), node.Message)
		if node.Since != nil {
			o.State.LastTransitionTime = *node.Since
		}
		all = append(all, o)
	}
	return wellLast(all)
}

func wellLast(all []*describe.Object) []*describe.Object {
	slices.SortStableFunc(all, func(a, b *describe.Object) int { return cmp.Compare(a.State.Status, b.State.Status) }) // False, True
	return all
}
