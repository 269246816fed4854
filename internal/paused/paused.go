// Package paused tells whether a Cluster API object may be reconciled.
package paused

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/paused"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Check reports whether an object or its Cluster, which may be nil, is paused, and says so in the object's condition. That
// an object which was never paused isn't, is said in memory only: whoever asks writes it with what follows. When the
// condition turns, the object is read anew, past the cache: what follows writes under a lock.
func Check(ctx context.Context, c client.Client, live client.Reader, cluster *clusterv1.Cluster, object paused.ConditionSetter) (bool, error) {
	if _, moving := object.GetAnnotations()[clusterctlv1.DeleteForMoveAnnotation]; moving {
		return true, nil // It lives on in another management cluster, and so does everything outside.
	}
	isPaused := annotations.HasPaused(object) || (cluster != nil && ptr.Deref(cluster.Spec.Paused, false))
	if !isPaused && conditions.Get(object, clusterv1.PausedCondition) == nil {
		conditions.Set(object, metav1.Condition{
			Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotPausedReason,
			ObservedGeneration: object.GetGeneration(),
		})
		return false, nil
	}
	isPaused, turned, err := paused.EnsurePausedCondition(ctx, c, cluster, object)
	if err != nil {
		return false, fmt.Errorf("write the condition Paused: %w", err)
	}
	if turned && !isPaused {
		if err := live.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, fmt.Errorf("read the object anew: %w", err)
		}
	}
	return isPaused, nil
}
