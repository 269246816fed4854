package credentials

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bedplate/bedplate/internal/fault"
)

// Guard keeps a finalizer on the Secrets in use: when a whole file or namespace is deleted at once, what was made outside
// can still be deleted, because the credentials for it stay until then.
type Guard struct {
	Client client.Client
	// Metadata reads the metadata of Secrets from the cache, which Client doesn't use for Secrets.
	Metadata Reader
	// Live reads past the cache.
	Live      client.Reader
	Finalizer string
	// InUse reports whether an object logs in with the Secret.
	InUse func(ctx context.Context, secret types.NamespacedName) (bool, error)
	// Others are further kinds that log in with Secrets, beside that of SetupWithManager.
	Others []Users
}

// SetupWithManager registers the controller. SecretOf names the Secret of an object of the kind user; one that has none has
// an empty name.
func (g *Guard) SetupWithManager(mgr ctrl.Manager, user client.Object, secretOf func(client.Object) types.NamespacedName, options controller.Options) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named("credentials-guard").
		WatchesMetadata(&corev1.Secret{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(g.concerned()))
	for _, users := range append([]Users{{Kind: user, SecretOf: secretOf}}, g.Others...) {
		b = b.Watches(users.Kind, enqueueSecrets(users.SecretOf))
	}
	return b.WithOptions(options).Complete(g)
}

// enqueueSecrets enqueues the Secrets of objects, also those that they have used before.
func enqueueSecrets(secretOf func(client.Object) types.NamespacedName) handler.EventHandler {
	enqueue := func(q workqueue.TypedRateLimitingInterface[reconcile.Request], users ...client.Object) {
		for _, u := range users {
			if secret := secretOf(u); secret.Name != "" {
				q.Add(reconcile.Request{NamespacedName: secret})
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(q, e.Object)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(q, e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(q, e.Object)
		},
	}
}

// concerned leaves out the Secrets that are neither in use nor guarded: most of a management cluster's, and each check of
// one is a call.
func (g *Guard) concerned() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(secret client.Object) bool {
		if controllerutil.ContainsFinalizer(secret, g.Finalizer) {
			return true
		}
		inUse, err := g.InUse(context.Background(), client.ObjectKeyFromObject(secret)) // from the cache
		return inUse || err != nil
	})
}

// Reconcile puts the finalizer on a Secret in use, and removes it from one that isn't any more.
func (g *Guard) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	secret := metadataOfSecret()
	if err := g.Metadata.Get(ctx, req.NamespacedName, secret); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	inUse, err := g.InUse(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	guarded := controllerutil.ContainsFinalizer(secret, g.Finalizer)
	if guarded == inUse || (inUse && secret.DeletionTimestamp != nil) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(g.change(ctx, req.NamespacedName, inUse))
}

// Keep puts the finalizer on a Secret right before the first thing is made with it, if it isn't there yet. Where it can't be
// put, the error says so, and nothing may be made: the Secret could go with its namespace, and what is outside would stay.
func (g *Guard) Keep(ctx context.Context, name types.NamespacedName) error {
	secret := metadataOfSecret()
	if err := g.Metadata.Get(ctx, name, secret); err == nil && controllerutil.ContainsFinalizer(secret, g.Finalizer) {
		return nil
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return g.change(ctx, name, true) })
	answer, answered := errors.AsType[*apierrors.StatusError](err)
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return refused(name, "does not exist: create it")
	case apierrors.IsConflict(err), apierrors.IsTooManyRequests(err), !answered, answer.Status().Code >= http.StatusInternalServerError:
		return fmt.Errorf("put the finalizer on Secret %s: %w", name, err)
	}
	return fault.Invalidf("the finalizer can't be added to secret %s (%s), and without it nothing is created: allow the manager to add it "+
		"(ClusterRole, admission policies), or, if the Secret is being deleted, replace it: %w", name, g.Finalizer, err)
}

func (g *Guard) change(ctx context.Context, name types.NamespacedName, inUse bool) error {
	secret := metadataOfSecret()
	if err := g.Live.Get(ctx, name, secret); err != nil {
		return err
	}
	before, change := secret.DeepCopy(), controllerutil.RemoveFinalizer
	if inUse {
		change = controllerutil.AddFinalizer
	}
	if !change(secret, g.Finalizer) {
		return nil
	}
	return g.Client.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func metadataOfSecret() *metav1.PartialObjectMetadata {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return secret
}
