package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/patch"
)

// SetupWithManager registers the controller: it watches the object itself, and all that it is made on and with.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	users := handler.EnqueueRequestsFromMapFunc(r.users)
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	err := ctrl.NewControllerManagedBy(mgr).Named("krake-cluster").
		For(&krakev1.Cluster{}, builder.WithPredicates(predicate.Or(graph.ChangedByOthers(), shown))).
		Watches(&krakev1.Cloud{}, users, counted).
		Watches(&krakev1.GlobalCloud{}, users, counted).
		Watches(&krakev1.InfrastructureProvider{}, users, changed).
		Watches(&krakev1.GlobalInfrastructureProvider{}, users, changed).
		WatchesMetadata(&corev1.Secret{}, users).
		WatchesRawSource(r.Engine.Creates.Woken(&krakev1.Cluster{})).
		WithOptions(options).
		Complete(patch.ExpectConflicts(r))
	if err != nil {
		return fmt.Errorf("set up the controller of Clusters: %w", err)
	}
	return nil
}

// counted passes changes of clouds, and that one has Clusters now: nothing is made before.
var counted = builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.(krakev1.AnyCloud).Known().Clusters == 0 && e.ObjectNew.(krakev1.AnyCloud).Known().Clusters > 0
	},
}))

// shown passes what others write into the status: a Cluster is bound to a cloud, or its observer has seen another state.
var shown = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*krakev1.Cluster), e.ObjectNew.(*krakev1.Cluster)
		seen := before.Status.State != after.Status.State && observed[after.Status.State]
		return seen || before.Status.ScheduledTo == nil && after.Status.ScheduledTo != nil
	},
}

// users are the Clusters on a cloud, by a provider, or with a Secret. Most Secrets are of no cloud and no provider.
func (r *Reconciler) users(ctx context.Context, used client.Object) (requests []reconcile.Request) {
	clouds, err := r.cloudsWith(ctx, used)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to find the clouds that use an object", "name", used.GetName())
	}
	if len(clouds) == 0 {
		return nil
	}
	var clusters krakev1.ClusterList
	if err := r.List(ctx, &clusters); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue the Clusters of a cloud")
	}
	for i := range clusters.Items {
		c := &clusters.Items[i]
		on := c.Status.ScheduledTo
		if on == nil {
			continue
		}
		key := cloudKey{c.Namespace, *on}
		if on.Kind == krakev1.KindGlobalCloud {
			key.namespace = ""
		}
		if clouds[key] {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c)})
		}
	}
	return requests
}

// cloudsWith are the clouds that are, or use, an object.
func (r *Reconciler) cloudsWith(ctx context.Context, used client.Object) (map[cloudKey]bool, error) {
	var own krakev1.CloudList
	var global krakev1.GlobalCloudList
	if err := r.List(ctx, &own); err != nil {
		return nil, err
	}
	if err := r.List(ctx, &global); err != nil {
		return nil, err
	}
	all := map[cloudKey]bool{}
	note := func(cloud krakev1.AnyCloud, self bool) {
		place, _ := r.places().Of(ctx, cloud.GetNamespace(), cloud.Reference()) // as far as it is known
		if self || place.uses(used) {
			all[cloudKey{cloud.GetNamespace(), cloud.Reference()}] = true
		}
	}
	for i := range own.Items {
		note(&own.Items[i], own.Items[i].UID == used.GetUID())
	}
	for i := range global.Items {
		note(&global.Items[i], global.Items[i].UID == used.GetUID())
	}
	return all, nil
}

// uses reports whether an object is the provider, or one of the Secrets.
func (p *Place) uses(object client.Object) bool {
	if p == nil || p.Provider == nil {
		return false
	}
	name := client.ObjectKeyFromObject(object)
	switch object.(type) {
	case *krakev1.InfrastructureProvider, *krakev1.GlobalInfrastructureProvider:
		return name == client.ObjectKeyFromObject(p.Provider)
	case *metav1.PartialObjectMetadata:
		return name == p.Login || name == p.CloudLogin
	}
	return false
}
