// Package queue is what controllers take their objects from.
package queue

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// New returns a queue for a controller; it goes into the controller's options.
func New[T comparable](name string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	return priorityqueue.New(name, func(o *priorityqueue.Opts[T]) { o.RateLimiter = limiter })
}
