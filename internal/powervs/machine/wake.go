package machine

import (
	"context"
	"reflect"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/powervs/cluster"
)

// specChanged ignores the progress of owners: much of it comes from here.
var specChanged = predicate.GenerationChangedPredicate{}

// specOrNodeChanged passes the end of a boot, too: then the bootstrap data isn't needed any more.
var specOrNodeChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*clusterv1.Machine), e.ObjectNew.(*clusterv1.Machine)
	return before.Generation != after.Generation || before.Status.NodeRef.IsDefined() != after.Status.NodeRef.IsDefined()
}}

// clusterChanged passes changes of what machines take from their IBMPowerVSCluster.
var clusterChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*infrav1.IBMPowerVSCluster), e.ObjectNew.(*infrav1.IBMPowerVSCluster)
	return before.Generation != after.Generation || !reflect.DeepEqual(taken(before), taken(after))
}}

// taken is what machines take from the status of an IBMPowerVSCluster.
func taken(c *infrav1.IBMPowerVSCluster) infrav1.IBMPowerVSClusterStatus {
	balancers := map[string]infrav1.VPCLoadBalancerStatus{}
	for name, b := range c.Status.LoadBalancers {
		balancers[name] = infrav1.VPCLoadBalancerStatus{ID: b.ID}
	}
	return infrav1.IBMPowerVSClusterStatus{
		Initialization: c.Status.Initialization, ServiceInstance: c.Status.ServiceInstance, Network: c.Status.Network,
		COSInstance: c.Status.COSInstance, LoadBalancers: balancers,
	}
}

// imageChanged passes images that become ready, or are made again.
var imageChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*infrav1.IBMPowerVSImage).Status, e.ObjectNew.(*infrav1.IBMPowerVSImage).Status
	return before.Ready != after.Ready || before.ImageID != after.ImageID
}}

// vmIndex finds the machine that has a virtual machine.
const vmIndex = "status.instanceID"

// machinesOn enqueues the machine that has a virtual machine.
func (r *Reconciler) machinesOn(ctx context.Context, id string) []reconcile.Request {
	return r.requests(ctx, func(*infrav1.IBMPowerVSMachine) bool { return true }, client.MatchingFields{vmIndex: id})
}

// machinesIn enqueues the machines of an IBMPowerVSCluster.
func (r *Reconciler) machinesIn(ctx context.Context, infra client.Object) []reconcile.Request {
	name, ok := infra.GetLabels()[clusterv1.ClusterNameLabel]
	if !ok {
		return nil
	}
	return r.requests(ctx, func(*infrav1.IBMPowerVSMachine) bool { return true },
		client.InNamespace(infra.GetNamespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: name})
}

// machinesFrom enqueues the machines that wait for an image.
func (r *Reconciler) machinesFrom(ctx context.Context, image client.Object) []reconcile.Request {
	return r.requests(ctx, func(m *infrav1.IBMPowerVSMachine) bool {
		return m.Spec.ImageRef != nil && m.Spec.ImageRef.Name == image.GetName() && m.Status.InstanceID == ""
	}, client.InNamespace(image.GetNamespace()))
}

// machinesWith enqueues the machines whose cluster logs in with a Secret.
func (r *Reconciler) machinesWith(ctx context.Context, secret client.Object) []reconcile.Request {
	users, err := cluster.Users(r.Default).Of(ctx, r.Client, client.ObjectKeyFromObject(secret))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue the IBMPowerVSMachines that use the Secret")
	}
	var all []reconcile.Request
	for _, user := range users {
		all = append(all, r.machinesIn(ctx, user)...)
	}
	return all
}

func (r *Reconciler) requests(
	ctx context.Context, which func(*infrav1.IBMPowerVSMachine) bool, options ...client.ListOption,
) (all []reconcile.Request) {
	machines := &infrav1.IBMPowerVSMachineList{}
	if err := r.List(ctx, machines, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the IBMPowerVSMachines to enqueue")
	}
	for i := range machines.Items {
		if which(&machines.Items[i]) {
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&machines.Items[i])})
		}
	}
	return all
}
