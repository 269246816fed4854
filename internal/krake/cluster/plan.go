package cluster

import (
	"context"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// Plan reports what reconciling a Cluster that is bound to a cloud would do, or, if it is being deleted, what its deletion would. It changes
// nothing: the infrastructure manager is asked whether it would accept the template. An error means that the cloud, its provider, a Secret or
// the ledger can't be used.
func (r *Reconciler) Plan(ctx context.Context, object *krakev1.Cluster) ([]graph.Step, error) {
	on, err := r.place(ctx, object)
	if err != nil {
		return nil, err
	}
	api, err := r.Clients.Of(ctx, on)
	if err != nil {
		return nil, err
	}
	n, err := r.open(ctx, api, on, object)
	if err != nil {
		return nil, err
	}
	if object.DeletionTimestamp.IsZero() {
		n.want(ctx)
	}
	return n.graph.Plan(ctx), nil
}
