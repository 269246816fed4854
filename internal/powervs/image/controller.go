// Package image reconciles IBMPowerVSImage: an image that is imported from Cloud Object Storage into a workspace.
package image

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/capi"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/cluster"
	"github.com/bedplate/bedplate/internal/powervs/takeover"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsimages,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsimages/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=ibmpowervsclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=powervs.bedplate.dev,resources=ledgers,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler imports and deletes the image of an IBMPowerVSImage.
type Reconciler struct {
	client.Client
	lifecycle.Logins[*ibm.Client]
	// Default is the Secret of clusters that name none.
	Default types.NamespacedName
}

// Users are the images that log in with a Secret of their own.
var Users = credentials.Users{
	Kind: &infrav1.IBMPowerVSImage{}, List: &infrav1.IBMPowerVSImageList{}, Title: "IBMPowerVSImages", SecretOf: SecretOf,
}

// SecretOf names the Secret that an image logs in with; the name is empty if that is its cluster's.
func SecretOf(object client.Object) (secret types.NamespacedName) {
	if a := object.(*infrav1.IBMPowerVSImage).Spec.Authentication; a != nil {
		return types.NamespacedName{Namespace: object.GetNamespace(), Name: a.SecretRef.Name}
	}
	return secret
}

// clusterIndex finds the images of a Cluster.
const clusterIndex = "spec.clusterName"

// SetupWithManager registers the controller: it watches the object itself, its cluster, and its credentials.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	if err := Users.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.IBMPowerVSImage{}, clusterIndex, func(o client.Object) []string {
		return []string{o.(*infrav1.IBMPowerVSImage).Spec.ClusterName}
	})
	if err != nil {
		return fmt.Errorf("index IBMPowerVSImages by Cluster: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.IBMPowerVSImage{}, builder.WithPredicates(graph.ChangedByOthers())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, c client.Object) []reconcile.Request {
			return r.imagesOf(ctx, c.GetNamespace(), c.GetName())
		}), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&infrav1.IBMPowerVSCluster{}, handler.EnqueueRequestsFromMapFunc(r.imagesIn), builder.WithPredicates(clusterChanged)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.imagesWith)).
		WatchesRawSource(r.Engine.Creates.Woken(&infrav1.IBMPowerVSImage{})).
		WithOptions(options).
		Complete(r)
}

// clusterChanged passes changes of what images take from their IBMPowerVSCluster.
var clusterChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*infrav1.IBMPowerVSCluster), e.ObjectNew.(*infrav1.IBMPowerVSCluster)
	return before.Generation != after.Generation || workspaceOf(before) != workspaceOf(after)
}}

// workspaceOf is the ID of a cluster's workspace; empty before that is ready.
func workspaceOf(infra *infrav1.IBMPowerVSCluster) string {
	if infra.Status.ServiceInstance == nil || !meta.IsStatusConditionTrue(infra.Status.Conditions, infrav1.WorkspaceReadyCondition) {
		return ""
	}
	return infra.Status.ServiceInstance.ID
}

// imagesIn enqueues the images of an IBMPowerVSCluster.
func (r *Reconciler) imagesIn(ctx context.Context, infra client.Object) []reconcile.Request {
	name, ok := infra.GetLabels()[clusterv1.ClusterNameLabel]
	if !ok {
		return nil
	}
	return r.imagesOf(ctx, infra.GetNamespace(), name)
}

func (r *Reconciler) imagesOf(ctx context.Context, namespace, cluster string) (all []reconcile.Request) {
	images := &infrav1.IBMPowerVSImageList{}
	if err := r.List(ctx, images, client.InNamespace(namespace), client.MatchingFields{clusterIndex: cluster}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the IBMPowerVSImages of a cluster", "cluster", cluster)
	}
	for i := range images.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&images.Items[i])})
	}
	return all
}

// imagesWith enqueues the images that log in with a Secret, or whose cluster does.
func (r *Reconciler) imagesWith(ctx context.Context, secret client.Object) []reconcile.Request {
	all := Users.Enqueue(r.Client)(ctx, secret)
	clusters, err := cluster.Users(r.Default).Of(ctx, r.Client, client.ObjectKeyFromObject(secret))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue the IBMPowerVSImages that use the Secret")
	}
	for _, c := range clusters {
		all = append(all, r.imagesIn(ctx, c)...)
	}
	return all
}

// owners are the objects around an IBMPowerVSImage. Any of them may be gone, or not there yet.
type owners struct {
	cluster *clusterv1.Cluster
	infra   *infrav1.IBMPowerVSCluster
}

// Reconcile brings one IBMPowerVSImage a step further.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object := &infrav1.IBMPowerVSImage{}
	if err := r.Get(ctx, req.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	around, err := r.around(ctx, object)
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.lifecycle().Reconcile(ctx, object, lifecycle.Steps[*ibm.Client]{
		Stop: func(ctx context.Context) (bool, ctrl.Result, error) {
			takeover.DropOldConditions(object)
			return capi.Of(r.lifecycle()).Stop(ctx, object, around.cluster, around.cluster != nil)
		},
		Secret: func(ctx context.Context) (types.NamespacedName, error) { return r.secretOf(ctx, around, object) },
		Open: func(ctx context.Context, login *lifecycle.Login[*ibm.Client]) (lifecycle.Graph, error) {
			n, secret := r.node(login.API, around, object), login.Secret.String()
			return takeover.Open(ctx, r.Engine, secret, object, n.kinds(), n.shown, func() (*node, error) {
				return r.open(ctx, login.API, secret, around, object)
			})
		},
	})
}

func (r *Reconciler) lifecycle() *lifecycle.Lifecycle[*ibm.Client] {
	return &lifecycle.Lifecycle[*ibm.Client]{
		Client: r.Client, Logins: r.Logins,
		Finalizer: infrav1.ImageFinalizer, LoginCondition: infrav1.ClusterReadyCondition,
		GraphCondition: infrav1.ImageReadyCondition, DeletionCondition: infrav1.ImageReadyCondition,
	}
}

// around fetches the owners, as far as they exist.
func (r *Reconciler) around(ctx context.Context, object *infrav1.IBMPowerVSImage) (o owners, _ error) {
	found := &clusterv1.Cluster{}
	name := types.NamespacedName{Namespace: object.Namespace, Name: object.Spec.ClusterName}
	switch err := r.Get(ctx, name, found); {
	case apierrors.IsNotFound(err):
		return o, nil
	case err != nil:
		return o, fmt.Errorf("get Cluster %s: %w", name, err)
	}
	o.cluster = found
	infra := &infrav1.IBMPowerVSCluster{}
	name.Name = found.Spec.InfrastructureRef.Name
	switch err := r.Get(ctx, name, infra); {
	case err == nil:
		o.infra = infra
	case !apierrors.IsNotFound(err):
		return o, fmt.Errorf("get IBMPowerVSCluster %s: %w", name, err)
	}
	return o, nil
}

// secretOf names the credentials: the image's own, those of the cluster, or if it is gone, those that the image was imported with.
func (r *Reconciler) secretOf(ctx context.Context, around owners, object *infrav1.IBMPowerVSImage) (none types.NamespacedName, _ error) {
	if own := SecretOf(object); own.Name != "" {
		return own, nil
	}
	if around.infra != nil {
		return cluster.Login(r.Default, around.infra)
	}
	ledger, err := ledgers.Of(ctx, r.Client, r.Scheme(), object)
	if err != nil {
		return none, err
	}
	if made := cluster.LoginOf(r.Default, object, ledger); made.Name != "" && !object.DeletionTimestamp.IsZero() {
		return made, nil
	}
	return none, fault.Invalidf("Cluster %s has no IBMPowerVSCluster, which names the credentials: create it, or set spec.authentication",
		object.Spec.ClusterName)
}
