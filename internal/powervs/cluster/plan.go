package cluster

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// Plan reports what reconciling an IBMPowerVSCluster would do, or, if it is being deleted, what its deletion would. It changes nothing. The
// owner is its Cluster, the secret the one that it logs in with. An error means that the ledger can't be used.
func Plan(
	ctx context.Context, engine *graph.Engine, api *ibm.Client, secret string, owner *clusterv1.Cluster, object *infrav1.IBMPowerVSCluster,
) ([]graph.Step, error) {
	r, err := open(ctx, engine, api, []string{secret}, owner, object)
	if err != nil {
		return nil, err
	}
	if object.DeletionTimestamp.IsZero() {
		r.want()
	}
	return r.graph.Plan(ctx), nil
}
