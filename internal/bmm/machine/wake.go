package machine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
)

// machinesIn wakes the machines of an NvidiaBMMCluster.
func (r *Reconciler) machinesIn(ctx context.Context, infra client.Object) []reconcile.Request {
	name, ok := infra.GetLabels()[clusterv1.ClusterNameLabel]
	if !ok {
		return nil
	}
	machines := &infrav1.NvidiaBMMMachineList{}
	err := r.List(ctx, machines, client.InNamespace(infra.GetNamespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: name})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the machines of a cluster", "cluster", name)
	}
	var requests []reconcile.Request
	for i := range machines.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&machines.Items[i])})
	}
	return requests
}

// machinesWith wakes the machines whose cluster logs in with a Secret.
func (r *Reconciler) machinesWith(ctx context.Context, secret client.Object) []reconcile.Request {
	users := &infrav1.NvidiaBMMClusterList{}
	err := r.List(ctx, users, client.InNamespace(secret.GetNamespace()), client.MatchingFields{cluster.SecretIndex: secret.GetName()})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the NvidiaBMMClusters that use a Secret", "secret", client.ObjectKeyFromObject(secret))
	}
	var requests []reconcile.Request
	for i := range users.Items {
		requests = append(requests, r.machinesIn(ctx, &users.Items[i])...)
	}
	return requests
}
