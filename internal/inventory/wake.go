package inventory

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bedplate/bedplate/internal/graph/creates"
)

// Source enqueues the owners of items that have changed since the previous list.
func (v *Inventory[C, T]) Source(ownersOf func(ctx context.Context, id string) []reconcile.Request) source.Source {
	return source.TypedChannel(v.Changes(), handler.TypedFuncs[Change, reconcile.Request]{GenericFunc: func(
		ctx context.Context, e event.TypedGenericEvent[Change],
		queue workqueue.TypedRateLimitingInterface[reconcile.Request],
	) {
		creates.Urgently(queue, ownersOf(ctx, e.Object.ID)...)
	}})
}
