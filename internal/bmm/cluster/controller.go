// Package cluster reconciles NvidiaBMMCluster: the networks of a cluster at a BMM site.
package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/patch"
	"github.com/bedplate/bedplate/internal/paused"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=nvidiabmmclusters/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=bmm.bedplate.dev,resources=ledgers,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=list

// Reconciler creates and deletes the networks of an NvidiaBMMCluster.
type Reconciler struct {
	client.Client
	Engine  *graph.Engine
	Clients *credentials.Cache[*bmm.Client]
	// Guard keeps the Secret of a cluster.
	Guard *credentials.Guard
}

// SetupWithManager registers the controller: it watches the object itself, its Cluster, and its credentials.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.NvidiaBMMCluster{}, SecretIndex, func(o client.Object) []string {
		return []string{o.(*infrav1.NvidiaBMMCluster).Spec.Authentication.SecretRef.Name}
	})
	if err != nil {
		return fmt.Errorf("index NvidiaBMMClusters by Secret: %w", err)
	}
	toInfrastructure := util.ClusterToInfrastructureMapFunc(
		ctx, infrav1.GroupVersion.WithKind("NvidiaBMMCluster"), r.Client, &infrav1.NvidiaBMMCluster{})
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.NvidiaBMMCluster{}, builder.WithPredicates(graph.ChangedByOthers())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(toInfrastructure),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})). // changes of its status don't count: much of it comes from here
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.usersOf)).
		WatchesRawSource(r.Engine.Creates.Woken(&infrav1.NvidiaBMMCluster{})).
		WithOptions(options).
		Complete(r)
}

const (
	// SecretIndex finds the NvidiaBMMClusters that log in with a Secret.
	SecretIndex = "spec.authentication.secretRef.name"
	// SecretFinalizer keeps such a Secret.
	SecretFinalizer = "bedplate.dev/in-use-by-nvidiabmmcluster" //nolint:gosec // a name, not a credential
)

// SecretOf names the Secret that an NvidiaBMMCluster logs in with.
func SecretOf(object client.Object) types.NamespacedName {
	name := object.(*infrav1.NvidiaBMMCluster).Spec.Authentication.SecretRef.Name
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: name}
}

// UsersOf lists the NvidiaBMMClusters that log in with a Secret.
func UsersOf(ctx context.Context, c client.Reader, secret types.NamespacedName) ([]infrav1.NvidiaBMMCluster, error) {
	users := &infrav1.NvidiaBMMClusterList{}
	loggingIn := client.MatchingFields{SecretIndex: secret.Name}
	if err := c.List(ctx, users, client.InNamespace(secret.Namespace), loggingIn); err != nil {
		return nil, fmt.Errorf("list the NvidiaBMMClusters that use Secret %s: %w", secret, err)
	}
	return users.Items, nil
}

// usersOf enqueues the NvidiaBMMClusters that log in with a Secret.
func (r *Reconciler) usersOf(ctx context.Context, secret client.Object) []reconcile.Request {
	users, err := UsersOf(ctx, r.Client, client.ObjectKeyFromObject(secret))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Nobody is woken for a changed Secret")
	}
	var requests []reconcile.Request
	for i := range users {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&users[i])})
	}
	return requests
}

// Reconcile brings one NvidiaBMMCluster a step further.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object := &infrav1.NvidiaBMMCluster{}
	if err := r.Get(ctx, req.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	left := paused.Left{Client: r.Client, Engine: r.Engine, Finalizer: infrav1.ClusterFinalizer, Condition: infrav1.VPCReadyCondition}
	if isLeft, result, err := left.Say(ctx, object, clusterv1.ManagedByAnnotation, clusterctlv1.DeleteForMoveAnnotation); isLeft {
		return result, err
	}
	if annotations.IsExternallyManaged(object) {
		return ctrl.Result{}, nil
	}
	owner, err := util.GetOwnerCluster(ctx, r.Client, object.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("get the owning Cluster: %w", err)
	}
	before := object.DeepCopy()
	if isPaused, err := paused.Check(ctx, r.Client, owner, object); err != nil {
		return ctrl.Result{}, err
	} else if isPaused {
		r.Engine.Leave(object)
		return r.Engine.LetMove(ctx, object)
	}
	if object.DeletionTimestamp.IsZero() && owner == nil {
		ctrl.LoggerFrom(ctx).Info("Waiting until Cluster API makes a Cluster the owner of this object")
		return ctrl.Result{}, nil
	}
	if object.DeletionTimestamp.IsZero() {
		if err := r.Engine.Hold(ctx, object, infrav1.ClusterFinalizer); err != nil {
			return ctrl.Result{}, err
		}
		ledgers.Held(before, object)
	}
	result, err := r.reconcile(ctx, owner, object)
	return result, errors.Join(err, patch.All(ctx, r.Client, before, object))
}

func (r *Reconciler) reconcile(
	ctx context.Context, owner *clusterv1.Cluster, object *infrav1.NvidiaBMMCluster,
) (ctrl.Result, error) {
	deleted := !object.DeletionTimestamp.IsZero()
	if deleted {
		if err := r.machinesGone(ctx, object); err != nil {
			return r.Engine.Blocked(object, infrav1.VPCReadyCondition, err)
		}
	}
	nothing, err := r.Engine.OwnsNothing(ctx, object)
	if err != nil {
		return ctrl.Result{}, err
	}
	goes := deleted && nothing
	if goes {
		if over, err := r.Engine.NothingToLookFor(ctx, object); err != nil {
			return ctrl.Result{}, err
		} else if over {
			return ctrl.Result{}, r.Engine.Release(ctx, object, infrav1.ClusterFinalizer)
		}
	}
	api, err := r.Clients.Client(ctx, SecretOf(object))
	switch {
	case goes && graph.CannotLogIn(err):
		return ctrl.Result{}, r.Engine.Release(ctx, object, infrav1.ClusterFinalizer)
	case err != nil:
		return r.Engine.Blocked(object, infrav1.ReferencesResolvedCondition, err)
	}
	if !deleted && nothing {
		if err := r.Guard.Keep(ctx, SecretOf(object)); err != nil {
			return r.Engine.Blocked(object, infrav1.ReferencesResolvedCondition, err)
		}
	}
	networks, err := open(ctx, r.Engine, api, object)
	if err != nil {
		return r.Engine.Blocked(object, infrav1.ReferencesResolvedCondition, err)
	}
	if deleted {
		result, err := networks.graph.DeleteAndRelease(ctx, infrav1.ClusterFinalizer)
		networks.projectLeft()
		return result, err
	}
	networks.want()
	networks.graph.Gate(infrav1.ControlPlaneEndpointReadyCondition, func() phases.Phase { return endpoint(owner, object) })
	result, err := networks.graph.Reconcile(ctx)
	networks.project()
	return result, err
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

// endpoint reports whether the control plane can begin: KubeadmControlPlane does nothing until the endpoint is known,
// and there is no default.
func endpoint(owner *clusterv1.Cluster, object *infrav1.NvidiaBMMCluster) phases.Phase {
	if object.Spec.ControlPlaneEndpoint != nil || owner.Spec.ControlPlaneEndpoint.IsValid() {
		return phases.Ready()
	}
	if owner.Spec.ControlPlaneRef.Kind != "KubeadmControlPlane" {
		return phases.Ready() // Other control plane providers bring an endpoint of their own.
	}
	return phases.Failed("KubeadmControlPlane %s waits for an endpoint: set spec.controlPlaneEndpoint to an address that "+
		"leads to the control plane, such as a virtual IP", owner.Spec.ControlPlaneRef.Name).Because("NoEndpoint")
}
