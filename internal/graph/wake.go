package graph

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Urgent is the priority of owners for which something was begun. Thousands of new owners that wait for their turn must not
// keep one waiting whose resource has come.
const Urgent = 1

// Urgently wakes owners before those for which nothing was begun.
func Urgently(queue workqueue.TypedRateLimitingInterface[reconcile.Request], owners ...reconcile.Request) {
	if ordered, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		ordered.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(Urgent)}, owners...)
		return
	}
	for _, owner := range owners {
		queue.Add(owner)
	}
}

// ChangedByOthers keeps an owner from being woken by what the engine itself writes: its status, and that
// it holds up a move. Without it every written
// condition would be the cause of another round of calls.
func ChangedByOthers() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return before.GetGeneration() != after.GetGeneration() ||
			!before.GetDeletionTimestamp().Equal(after.GetDeletionTimestamp()) ||
			!maps.Equal(before.GetLabels(), after.GetLabels()) ||
			!maps.Equal(othersAnnotations(before), othersAnnotations(after)) ||
			!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
	}}
}

func othersAnnotations(object client.Object) map[string]string {
	annotations := maps.Clone(object.GetAnnotations())
	delete(annotations, clusterctlv1.BlockMoveAnnotation)
	return annotations
}
