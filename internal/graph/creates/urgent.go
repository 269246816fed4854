package creates

import (
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Urgent is the priority of owners for which a create was started. Thousands of new owners that wait for their turn must
// not delay one whose resource exists.
const Urgent = 1

// Urgently enqueues owners ahead of those for which nothing was started.
func Urgently(queue workqueue.TypedRateLimitingInterface[reconcile.Request], owners ...reconcile.Request) {
	if ordered, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		ordered.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(Urgent)}, owners...)
		return
	}
	for _, owner := range owners {
		queue.Add(owner)
	}
}
