package image

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// Plan reports what reconciling an IBMPowerVSImage would do, or, if it is being deleted, what its deletion would. It changes nothing. Infra
// is the IBMPowerVSCluster of its Cluster; the secret is the one that it logs in with. An error means that the ledger can't be used.
func (r *Reconciler) Plan(
	ctx context.Context, api *ibm.Client, secret string, cluster *clusterv1.Cluster, infra *infrav1.IBMPowerVSCluster,
	object *infrav1.IBMPowerVSImage,
) ([]graph.Step, error) {
	n, err := r.open(ctx, api, secret, owners{cluster: cluster, infra: infra}, object)
	if err != nil {
		return nil, err
	}
	if object.DeletionTimestamp.IsZero() {
		n.want(ctx)
	}
	return n.graph.Plan(ctx), nil
}
