package machine

import (
	"context"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
)

// specChanged ignores the progress of owners: much of it comes from here.
var specChanged = predicate.GenerationChangedPredicate{}

// networksChanged passes changes of what machines take from their NvidiaBMMCluster.
var networksChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*infrav1.NvidiaBMMCluster), e.ObjectNew.(*infrav1.NvidiaBMMCluster)
	return before.Generation != after.Generation || !reflect.DeepEqual(networksOf(before), networksOf(after))
}}

type networks struct {
	siteID, vpcID, groupID string
	subnets                []infrav1.SubnetStatus
	prefixes               []infrav1.VPCPrefixStatus
	ready                  bool
}

func networksOf(infra *infrav1.NvidiaBMMCluster) networks {
	s := infra.Status
	return networks{s.SiteID, s.VPCID, s.NetworkSecurityGroupID, s.Subnets, s.VPCPrefixes, networksReady(infra)}
}

// instanceIndex finds the machine that has an instance.
const instanceIndex = "status.instanceID"

// machinesOn enqueues the machine that has an instance.
func (r *Reconciler) machinesOn(ctx context.Context, instanceID string) []reconcile.Request {
	machines := &infrav1.NvidiaBMMMachineList{}
	if err := r.List(ctx, machines, client.MatchingFields{instanceIndex: instanceID}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue the NvidiaBMMMachine of the instance", "instance", instanceID)
	}
	return requests(machines)
}

func requests(machines *infrav1.NvidiaBMMMachineList) []reconcile.Request {
	var all []reconcile.Request
	for i := range machines.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&machines.Items[i])})
	}
	return all
}

// machinesIn enqueues the machines of an NvidiaBMMCluster.
func (r *Reconciler) machinesIn(ctx context.Context, infra client.Object) []reconcile.Request {
	name, ok := infra.GetLabels()[clusterv1.ClusterNameLabel]
	if !ok {
		return nil
	}
	machines := &infrav1.NvidiaBMMMachineList{}
	ofCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: name}
	if err := r.List(ctx, machines, client.InNamespace(infra.GetNamespace()), ofCluster); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the machines of a cluster", "cluster", name)
	}
	return requests(machines)
}

// machinesWith enqueues the machines whose cluster logs in with a Secret.
func (r *Reconciler) machinesWith(ctx context.Context, secret client.Object) []reconcile.Request {
	users, err := cluster.Users.Of(ctx, r.Client, client.ObjectKeyFromObject(secret))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue the NvidiaBMMMachines that use the Secret")
	}
	var all []reconcile.Request
	for _, user := range users {
		all = append(all, r.machinesIn(ctx, user)...)
	}
	return all
}
