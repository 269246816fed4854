// Package capi is what Cluster API asks of every controller of infrastructure objects: pauses, moves, other managers.
package capi

import (
	"context"
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/paused"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// Paused reports whether an object or its Cluster, which may be nil, is paused. If it is, that is written into the
// object's condition before anything else; if it isn't, the condition is set in memory only: the caller writes it with
// its other changes.
//
// One that was paused here and isn't any more has been moved or restored, perhaps: then this is the management cluster that is to
// act on its ledger, and the annotation says so. It is in memory too, so that it isn't lost before that was done.
func Paused(ctx context.Context, c client.Client, cluster *clusterv1.Cluster, object paused.ConditionSetter) (bool, error) {
	if _, moving := object.GetAnnotations()[clusterctlv1.DeleteForMoveAnnotation]; moving {
		return true, nil // It lives on in another management cluster, and so does everything outside.
	}
	if annotations.HasPaused(object) || (cluster != nil && ptr.Deref(cluster.Spec.Paused, false)) {
		if _, _, err := paused.EnsurePausedCondition(ctx, c, cluster, object); err != nil {
			return false, fmt.Errorf("write the condition Paused: %w", err)
		}
		return true, nil
	}
	// A Cluster that is gone has unpaused nothing: what it held may be another management cluster's.
	if cluster != nil && conditions.IsTrue(object, clusterv1.PausedCondition) {
		all := maps.Clone(object.GetAnnotations())
		if all == nil {
			all = map[string]string{}
		}
		all[ledgerv1.TakeOverAnnotation] = "true"
		object.SetAnnotations(all)
	}
	conditions.Set(object, metav1.Condition{
		Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason,
		ObservedGeneration: object.GetGeneration(),
	})
	return false, nil
}

// clusterOf is the name of the Cluster that owns an object, or that its label names.
func clusterOf(object client.Object) string {
	for _, r := range object.GetOwnerReferences() {
		if group, _, _ := strings.Cut(r.APIVersion, "/"); r.Kind == "Cluster" && group == clusterv1.GroupVersion.Group {
			return r.Name
		}
	}
	return object.GetLabels()[clusterv1.ClusterNameLabel]
}

// LivePause says for an engine whether an owner is paused, or its Cluster, past the cache: clusterctl pauses the Cluster, and moves what
// it is of.
func LivePause(live client.Reader) func(context.Context, client.Object) (bool, error) {
	return func(ctx context.Context, owner client.Object) (bool, error) {
		name := clusterOf(owner)
		if annotations.HasPaused(owner) || name == "" {
			return annotations.HasPaused(owner), nil
		}
		cluster := &clusterv1.Cluster{}
		if err := live.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: name}, cluster); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		return ptr.Deref(cluster.Spec.Paused, false), nil
	}
}
