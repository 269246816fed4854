package creates

import (
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
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
