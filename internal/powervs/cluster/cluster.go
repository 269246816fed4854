// Package cluster reconciles IBMPowerVSCluster: the workspace with its network, and the VPC with the load balancers that lead to it.
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

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/capi"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/takeover"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsclusters/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsimages,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=powervs.bedplate.dev,resources=ledgers,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler creates and deletes what an IBMPowerVSCluster has at IBM Cloud.
type Reconciler struct {
	client.Client
	lifecycle.Logins[*ibm.Client]
	// Default is the Secret of clusters that name none; its name is empty if there is no default.
	Default types.NamespacedName
}

// SetupWithManager registers the controller: it watches the object itself, its Cluster, and its credentials.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	users := Users(r.Default)
	if err := users.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	toInfrastructure := util.ClusterToInfrastructureMapFunc(
		ctx, infrav1.GroupVersion.WithKind("IBMPowerVSCluster"), r.Client, &infrav1.IBMPowerVSCluster{})
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.IBMPowerVSCluster{}, builder.WithPredicates(graph.ChangedByOthers())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(toInfrastructure),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})). // changes of its status don't count: much of it comes from here
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(users.Enqueue(r.Client))).
		WatchesRawSource(r.Engine.Creates.Woken(&infrav1.IBMPowerVSCluster{})).
		WithOptions(options).
		Complete(r)
}

// SecretFinalizer keeps the Secrets that IBMPowerVSClusters log in with.
const SecretFinalizer = "bedplate.dev/in-use-by-ibmpowervscluster" //nolint:gosec // a name, not a credential

// SecretOf returns what names the Secret that an IBMPowerVSCluster logs in with: the default, unless it names another one. Without both the
// name is empty.
func SecretOf(byDefault types.NamespacedName) func(client.Object) types.NamespacedName {
	return func(object client.Object) types.NamespacedName {
		if a := object.(*infrav1.IBMPowerVSCluster).Spec.Authentication; a != nil {
			return types.NamespacedName{Namespace: object.GetNamespace(), Name: a.SecretRef.Name}
		}
		return byDefault
	}
}

// Users are those that log in with Secrets, given the one of those that name none.
func Users(byDefault types.NamespacedName) credentials.Users {
	return credentials.Users{
		Kind: &infrav1.IBMPowerVSCluster{}, List: &infrav1.IBMPowerVSClusterList{}, Title: "IBMPowerVSClusters", SecretOf: SecretOf(byDefault),
	}
}

// Login names the Secret that a cluster logs in with.
func Login(byDefault types.NamespacedName, object *infrav1.IBMPowerVSCluster) (types.NamespacedName, error) {
	name := SecretOf(byDefault)(object)
	if name.Name == "" {
		return name, &fault.Error{Class: fault.Credentials, Err: fmt.Errorf(
			"IBMPowerVSCluster %s names no credentials, and there are no default ones: set spec.authentication.secretRef, or start the manager "+
				"with --default-credentials", object.Name)}
	}
	return name, nil
}

// Reconcile brings one IBMPowerVSCluster a step further.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object := &infrav1.IBMPowerVSCluster{}
	if err := r.Get(ctx, req.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	owner, err := util.GetOwnerCluster(ctx, r.Client, object.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("get the owning Cluster: %w", err)
	}
	secret, unnamed := Login(r.Default, object)
	return r.lifecycle().Reconcile(ctx, object, lifecycle.Steps[*ibm.Client]{
		Stop: func(ctx context.Context) (bool, ctrl.Result, error) {
			takeover.DropOldConditions(object)
			return capi.OfCluster(r.lifecycle()).Stop(ctx, object, owner, owner != nil)
		},
		Secret:    func(context.Context) (types.NamespacedName, error) { return secret, unnamed },
		Deletable: func(ctx context.Context) error { return r.usersGone(ctx, object) },
		Open: func(ctx context.Context, login *lifecycle.Login[*ibm.Client]) (lifecycle.Graph, error) {
			shown := func(context.Context) ([]ledgers.Resource, error) { return shownBy(object), nil }
			return takeover.Open(ctx, r.Engine, secret.String(), object, KindsOf(login.API, object).all(), shown, func() (*resources, error) {
				return open(ctx, r.Engine, login.API, []string{secret.String()}, owner, object)
			})
		},
	})
}

func (r *Reconciler) lifecycle() *lifecycle.Lifecycle[*ibm.Client] {
	return &lifecycle.Lifecycle[*ibm.Client]{
		Client: r.Client, Logins: r.Logins,
		Finalizer: infrav1.ClusterFinalizer, LoginCondition: infrav1.ReferencesResolvedCondition,
		GraphCondition: infrav1.ReferencesResolvedCondition, DeletionCondition: infrav1.WorkspaceReadyCondition,
	}
}

// usersGone deletes the images of the cluster, and fails as long as they or machines have something outside: it lies in the workspace or in
// the load balancers, and is reached by the cluster's login.
func (r *Reconciler) usersGone(ctx context.Context, object *infrav1.IBMPowerVSCluster) error {
	name, ok := object.Labels[clusterv1.ClusterNameLabel]
	if !ok {
		return nil
	}
	machines, images := &infrav1.IBMPowerVSMachineList{}, &infrav1.IBMPowerVSImageList{}
	err := r.List(ctx, machines, client.InNamespace(object.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: name})
	if err == nil {
		err = r.List(ctx, images, client.InNamespace(object.Namespace))
	}
	if err != nil {
		return &fault.Error{Class: fault.Transient, Op: "list what is in the cluster", Err: err}
	}
	var users []graph.Owner
	for i := range machines.Items {
		users = append(users, &machines.Items[i])
	}
	for i := range images.Items {
		image := &images.Items[i]
		if image.Spec.ClusterName != name {
			continue
		}
		users = append(users, image)
		if image.DeletionTimestamp != nil { // the garbage collector does it after the Cluster only, which waits for this object
			continue
		}
		if err := r.Delete(ctx, image, client.Preconditions{UID: &image.UID}); client.IgnoreNotFound(err) != nil {
			return &fault.Error{Class: fault.Transient, Op: "delete IBMPowerVSImage " + image.Name, Err: err}
		}
	}
	for _, user := range users {
		nothing, err := r.Engine.OwnsNothing(ctx, user)
		if err != nil {
			return err
		}
		if !nothing {
			return &fault.Error{Class: fault.Busy, Err: fmt.Errorf("waits until %s %s is gone", ledgers.KindOf(user), user.GetName())}
		}
	}
	return nil
}
