// Package cluster reconciles NvidiaBMMCluster: the networks of a cluster at a BMM site.
package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/capi"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/lifecycle"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmclusters/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=bmm.bedplate.dev,resources=ledgers,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=list

// Reconciler creates and deletes the networks of an NvidiaBMMCluster.
type Reconciler struct {
	client.Client
	lifecycle.Logins[*bmm.Client]
}

// SetupWithManager registers the controller: it watches the object itself, its Cluster, and its credentials.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	if err := Users.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	toInfrastructure := util.ClusterToInfrastructureMapFunc(
		ctx, infrav1.GroupVersion.WithKind("NvidiaBMMCluster"), r.Client, &infrav1.NvidiaBMMCluster{})
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.NvidiaBMMCluster{}, builder.WithPredicates(graph.ChangedByOthers())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(toInfrastructure),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})). // changes of its status don't count: much of it comes from here
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(Users.Enqueue(r.Client))).
		WatchesRawSource(r.Engine.Creates.Woken(&infrav1.NvidiaBMMCluster{})).
		WithOptions(options).
		Complete(r)
}

// SecretFinalizer keeps the Secrets that NvidiaBMMClusters log in with.
const SecretFinalizer = "bedplate.dev/in-use-by-nvidiabmmcluster" //nolint:gosec // a name, not a credential

// SecretOf names the Secret that an NvidiaBMMCluster logs in with.
func SecretOf(object client.Object) types.NamespacedName {
	name := object.(*infrav1.NvidiaBMMCluster).Spec.Authentication.SecretRef.Name
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: name}
}

// Users are those that log in with Secrets.
var Users = credentials.Users{
	Kind: &infrav1.NvidiaBMMCluster{}, List: &infrav1.NvidiaBMMClusterList{}, Title: "NvidiaBMMClusters", SecretOf: SecretOf,
}

// Reconcile brings one NvidiaBMMCluster a step further.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object := &infrav1.NvidiaBMMCluster{}
	if err := r.Get(ctx, req.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	owner, err := util.GetOwnerCluster(ctx, r.Client, object.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("get the owning Cluster: %w", err)
	}
	return r.lifecycle().Reconcile(ctx, object, lifecycle.Steps[*bmm.Client]{
		Stop: func(ctx context.Context) (bool, ctrl.Result, error) {
			return capi.OfCluster(r.lifecycle()).Stop(ctx, object, owner, owner != nil)
		},
		Secret:    func(context.Context) (types.NamespacedName, error) { return SecretOf(object), nil },
		Deletable: func(ctx context.Context) error { return r.machinesGone(ctx, object) },
		Open: func(ctx context.Context, login *lifecycle.Login[*bmm.Client]) (lifecycle.Graph, error) {
			return open(ctx, r.Engine, login.API, owner, object)
		},
	})
}

func (r *Reconciler) lifecycle() *lifecycle.Lifecycle[*bmm.Client] {
	return &lifecycle.Lifecycle[*bmm.Client]{
		Client: r.Client, Logins: r.Logins,
		Finalizer: infrav1.ClusterFinalizer, LoginCondition: infrav1.ReferencesResolvedCondition,
		GraphCondition: infrav1.ReferencesResolvedCondition, DeletionCondition: infrav1.VPCReadyCondition,
	}
}

// machinesGone fails as long as machines of the cluster have something outside. They log in with its Secret, which may be
// deleted as soon as the cluster is gone: a namespace is deleted in no order.
func (r *Reconciler) machinesGone(ctx context.Context, object *infrav1.NvidiaBMMCluster) error {
	name, ok := object.Labels[clusterv1.ClusterNameLabel]
	if !ok {
		return nil
	}
	machines := &infrav1.NvidiaBMMMachineList{}
	ofCluster := client.MatchingLabels{clusterv1.ClusterNameLabel: name}
	if err := r.List(ctx, machines, client.InNamespace(object.Namespace), ofCluster); err != nil {
		return &fault.Error{Class: fault.Transient, Op: "list the machines of the cluster", Err: err}
	}
	for i := range machines.Items {
		m := &machines.Items[i]
		nothing, err := r.Engine.OwnsNothing(ctx, m)
		if err != nil {
			return err
		}
		if !nothing {
			return &fault.Error{Class: fault.Busy, Err: fmt.Errorf("waits until NvidiaBMMMachine %s is gone", m.Name)}
		}
	}
	return nil
}
