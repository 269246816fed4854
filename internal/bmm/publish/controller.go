// Package publish publishes their instances to workload clusters, so that a workload cluster needs no login of its own: a
// login to the BMM API may delete all instances of the tenant. See package publication for the contents.
//
// Its data comes from the machine controller and the inventory. A workload cluster that doesn't answer costs an occasional
// call, and delays neither other clusters nor any deletion.
package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/bmm/topology"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/egress"
)

const (
	// workers wait for workload clusters, each for no longer than lookTimeout. No other controller uses them, and each tenant
	// has a share of them.
	workers     = 64
	lookTimeout = 30 * time.Second
	// Event of an NvidiaBMMCluster.
	reasonUnpublished = "InstancesNotPublished"
	actionPublish     = "PublishInstances"
)

// Reconciler publishes the instances of each cluster whose NvidiaBMMCluster asks for it.
type Reconciler struct {
	client.Client
	// Secrets reads kubeconfigs, and ledgers of machines that are gone, past the cache.
	Secrets   client.Reader
	Recorder  events.EventRecorder
	Clients   *credentials.Cache[*bmm.Client]
	Instances *inventory.Inventory
	Places    *topology.Lookup
	Clock     clock.PassiveClock
	// Egress says where kubeconfigs may lead to, which tenants may write.
	Egress egress.Policy
	// Poll is the interval that others are derived from: changes are gathered for a thirtieth of it, and after ten of them the
	// actual state is read.
	Poll time.Duration

	clusters clusters
	looks    looks
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	options.MaxConcurrentReconciles = workers
	return ctrl.NewControllerManagedBy(mgr).Named("nvidiabmminstances").
		For(&clusterv1.Cluster{}).
		Watches(&infrav1.NvidiaBMMCluster{}, handler.EnqueueRequestsFromMapFunc(clusterOf)).
		Watches(&infrav1.NvidiaBMMMachine{}, r.machines()).
		WithOptions(options).
		Complete(r)
}

func (r *Reconciler) gather() time.Duration { return r.Poll / 30 }
func (r *Reconciler) resync() time.Duration { return 10 * r.Poll }

// patience is the longest pause between calls to a cluster that doesn't answer.
func (r *Reconciler) patience() time.Duration { return 4 * r.Poll }

// clusterOf is the Cluster that an object belongs to.
func clusterOf(_ context.Context, object client.Object) []reconcile.Request {
	name, ok := object.GetLabels()[clusterv1.ClusterNameLabel]
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}

// machines enqueue their clusters, if these are published. The last event of a deleted machine shows how it was deleted,
// which can't be read afterwards.
func (r *Reconciler) machines() handler.EventHandler {
	published := func(ctx context.Context, object client.Object) []reconcile.Request {
		return slices.DeleteFunc(clusterOf(ctx, object), func(q reconcile.Request) bool { return !r.clusters.has(q.NamespacedName) })
	}
	wake := handler.EnqueueRequestsFromMapFunc(published)
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: wake.Create, UpdateFunc: wake.Update,
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			machine := e.Object.(*infrav1.NvidiaBMMMachine)
			if id, err := providerid.Parse(machine.Spec.ProviderID); err == nil && len(published(ctx, machine)) > 0 && r.released(ctx, machine) {
				for _, request := range published(ctx, machine) {
					r.clusters.died(request.NamespacedName, tombstone(machine, id))
				}
			}
			wake.Delete(ctx, e, q)
		},
	}
}

// Reconcile publishes what has changed of one cluster's instances.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.Cluster{}
	if err := r.Get(ctx, req.NamespacedName, cluster); err != nil {
		if apierrors.IsNotFound(err) {
			r.clusters.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	infra, err := r.infra(ctx, cluster)
	if err != nil {
		return ctrl.Result{}, err
	}
	if infra == nil || !due(cluster, infra) {
		r.clusters.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	known := r.clusters.of(req.NamespacedName)
	if soon := known.next.Sub(r.Clock.Now()); soon > 0 { // whatever enqueues it
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	if !r.looks.begin(req.Namespace) {
		return ctrl.Result{RequeueAfter: r.gather()}, nil
	}
	defer r.looks.end(req.Namespace)
	dead := r.clusters.dead(req.NamespacedName) // before the list, which has none of their machines then
	machines := &infrav1.NvidiaBMMMachineList{}
	ofCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}
	if err := r.List(ctx, machines, client.InNamespace(cluster.Namespace), ofCluster, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the machines of the cluster: %w", err)
	}
	turn, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	want := r.wanted(turn, infra, machines.Items, dead)
	err = r.publish(turn, req.NamespacedName, known, want)
	if ctx.Err() != nil { // the manager shuts down, which isn't the cluster's fault
		return ctrl.Result{}, ctx.Err()
	}
	r.tell(infra, known, err)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Instances aren't published")
		return ctrl.Result{RequeueAfter: known.putOff(err, r.Clock.Now(), r.gather(), r.patience())}, nil
	}
	known.pause, known.next = 0, r.Clock.Now().Add(r.gather())
	r.clusters.buried(req.NamespacedName, dead)
	known.bury(dead)
	if want.site == nil || len(want.unknown) > 0 { // the manager itself lacks data
		return ctrl.Result{RequeueAfter: r.Poll}, nil
	}
	return ctrl.Result{RequeueAfter: r.resync()}, nil
}

// infra is the NvidiaBMMCluster of a cluster; nil if there is none.
func (r *Reconciler) infra(ctx context.Context, cluster *clusterv1.Cluster) (*infrav1.NvidiaBMMCluster, error) {
	ref := cluster.Spec.InfrastructureRef
	if ref.Kind != "NvidiaBMMCluster" || ref.APIGroup != infrav1.GroupVersion.Group {
		return nil, nil
	}
	infra := &infrav1.NvidiaBMMCluster{}
	err := r.Get(ctx, types.NamespacedName{Namespace: cluster.Namespace, Name: ref.Name}, infra)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return infra, nil
}

// due reports whether the instances of a cluster are published now: its control plane answers, and no other manager has it. While
// it is deleted, Cluster API handles its nodes.
func due(cluster *clusterv1.Cluster, infra *infrav1.NvidiaBMMCluster) bool {
	return ptr.Deref(infra.Spec.PublishInstances, false) && !annotations.IsPaused(cluster, infra) &&
		cluster.DeletionTimestamp.IsZero() && infra.DeletionTimestamp.IsZero() &&
		ptr.Deref(cluster.Status.Initialization.ControlPlaneInitialized, false)
}

// tell reports an error that is new, and remembers when one is over.
func (r *Reconciler) tell(infra *infrav1.NvidiaBMMCluster, known *state, err error) {
	says := ""
	if err != nil && !errors.Is(err, errNotAll) {
		says = "The cluster's instances can't be published: see the manager's log"
	}
	if found, ok := errors.AsType[*clusterError](err); ok {
		says = found.says
	}
	if says != "" && says != known.told {
		r.Recorder.Eventf(infra, nil, corev1.EventTypeWarning, reasonUnpublished, actionPublish,
			"%s. Until the cluster's instances are published to it, new Nodes aren't initialised and no Node is deleted", says)
	}
	known.told = says
}
