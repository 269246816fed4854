package instance

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/graph/creates"
)

// Changes enqueue the machines whose instances have changed since the previous list.
func Changes(
	instances *inventory.Inventory, machinesOf func(ctx context.Context, instanceID string) []reconcile.Request,
) source.Source {
	return source.TypedChannel(instances.Changes(), handler.TypedFuncs[inventory.Change, reconcile.Request]{GenericFunc: func(
		ctx context.Context, e event.TypedGenericEvent[inventory.Change],
		queue workqueue.TypedRateLimitingInterface[reconcile.Request],
	) {
		creates.Urgently(queue, machinesOf(ctx, e.Object.InstanceID)...)
	}})
}
