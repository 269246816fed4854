package optest

import (
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bedplate/bedplate/internal/queue"
)

// Reconciles counts those of a manager: its NewQueue goes into the options of the controllers.
type Reconciles struct{ n atomic.Int64 }

// NewQueue makes the queue of a controller.
func (r *Reconciles) NewQueue(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return &counted{queue.New(name, limiter).(priorityqueue.PriorityQueue[reconcile.Request]), r}
}

// Count is how many there were so far.
func (r *Reconciles) Count() int { return int(r.n.Load()) }

type counted struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	reconciles *Reconciles
}

// GetWithPriority is what workers call before each reconcile.
func (c *counted) GetWithPriority() (object reconcile.Request, priority int, shutdown bool) {
	object, priority, shutdown = c.PriorityQueue.GetWithPriority()
	c.reconciles.n.Add(1)
	return object, priority, shutdown
}
