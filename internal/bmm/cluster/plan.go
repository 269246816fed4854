package cluster

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/graph"
)

// Plan reports what reconciling an NvidiaBMMCluster would do, or, if it is being deleted, what its deletion would. It
// changes nothing. The owner is its Cluster. An error means that the ledger can't be used.
func Plan(
	ctx context.Context, engine *graph.Engine, api *bmm.Client, owner *clusterv1.Cluster, object *infrav1.NvidiaBMMCluster,
) ([]graph.Step, error) {
	networks, err := open(ctx, engine, api, owner, object)
	if err != nil {
		return nil, err
	}
	networks.planning = true
	if object.DeletionTimestamp.IsZero() {
		networks.want()
	}
	return networks.graph.Plan(ctx), nil
}
