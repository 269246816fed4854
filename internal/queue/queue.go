// Package queue is what controllers take their objects from.
package queue

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// New returns a priority queue for a controller; it goes into the controller's options.
//
// That of controller-runtime v0.24 doesn't always end: it hands out an object while it holds its lock, and when it is shut down
// at that moment the worker is gone that the object is for, so all others wait for the lock for ever (controller-runtime's
// issue 3538, mended in v0.25). Here no worker waits for a queue that is shut down. With v0.25 this package can go.
func New[T comparable](name string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	down := make(chan struct{})
	return &queue[T]{
		PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[T]) { o.RateLimiter = limiter }),
		down:          down, shutDown: sync.OnceFunc(func() { close(down) }),
	}
}

type queue[T comparable] struct {
	priorityqueue.PriorityQueue[T]
	// down is closed when the queue is shut down.
	down     chan struct{}
	shutDown func()
}

// GetWithPriority waits for an object, or until the queue is shut down.
func (q *queue[T]) GetWithPriority() (object T, priority int, shutdown bool) {
	type handed struct {
		object   T
		priority int
		shutdown bool
	}
	next := make(chan handed, 1)
	go func() {
		var h handed
		h.object, h.priority, h.shutdown = q.PriorityQueue.GetWithPriority()
		next <- h
	}()
	select {
	case h := <-next:
		return h.object, h.priority, h.shutdown
	case <-q.down:
		return object, 0, true
	}
}

// Get is GetWithPriority without the priority.
func (q *queue[T]) Get() (object T, shutdown bool) {
	object, _, shutdown = q.GetWithPriority()
	return object, shutdown
}

// Done gives an object back.
func (q *queue[T]) Done(object T) {
	given := make(chan struct{})
	go func() {
		q.PriorityQueue.Done(object)
		close(given)
	}()
	select {
	case <-given:
	case <-q.down:
	}
}

// ShutDown lets all workers end.
func (q *queue[T]) ShutDown() {
	q.shutDown()
	q.PriorityQueue.ShutDown()
}

// ShutDownWithDrain is ShutDown: controllers wait for their workers themselves.
func (q *queue[T]) ShutDownWithDrain() { q.ShutDown() }
