package observer

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/patch"
)

// Reasons of a provider's condition Reachable.
const (
	// ReasonAnswers: it answers, and takes the login.
	ReasonAnswers = "Answers"
	// ReasonUnreachable: it doesn't, or can't be called with this URL and Secret.
	ReasonUnreachable = "Unreachable"
)

// Pauses between looks at a provider, in intervals of 30 s. One that doesn't answer is called up to three times in each look, and so at
// most once a minute.
const (
	wellPause   time.Duration = 10
	silentPause time.Duration = 6
)

// providers looks at the infrastructure providers of one kind.
type providers struct {
	client.Client
	// secrets reads past the cache.
	secrets client.Reader
	events  events.EventRecorder
	Config
	kind  string
	empty conditioned
	list  client.ObjectList
}

func newProviders(mgr ctrl.Manager, config Config, kind string, empty conditioned, list client.ObjectList) *providers {
	return &providers{mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("bedplate-krake"), config, kind, empty, list}
}

func (o *providers) setup(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("krake-"+strings.ToLower(o.kind)+"-observer").
		For(o.empty, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(o.loggedIn)).
		WithOptions(o.Options).Complete(patch.ExpectConflicts(o))
	if err != nil {
		return fmt.Errorf("set up the observer of %ss: %w", o.kind, err)
	}
	return nil
}

// described are spec and status of a provider.
func described(provider runtime.Object) (*krakev1.InfrastructureProviderSpec, *krakev1.InfrastructureProviderStatus) {
	switch p := provider.(type) {
	case *krakev1.GlobalInfrastructureProvider:
		return &p.Spec, &p.Status
	case *krakev1.InfrastructureProvider:
		return &p.Spec, &p.Status
	}
	panic(fmt.Sprintf("%T isn't a provider", provider))
}

// secretOf a provider: that of a global one is in the manager's namespace.
func (o *providers) secretOf(p client.Object) types.NamespacedName {
	spec, _ := described(p)
	name := types.NamespacedName{Namespace: p.GetNamespace(), Name: spec.IM.SecretRef.Name}
	if name.Namespace == "" {
		name.Namespace = o.GlobalNamespace
	}
	return name
}

// loggedIn are the providers that are logged in to with a Secret.
func (o *providers) loggedIn(ctx context.Context, secret client.Object) (requests []ctrl.Request) {
	all := o.list.DeepCopyObject().(client.ObjectList)
	err := o.List(ctx, all)
	if err == nil {
		err = meta.EachListItem(all, func(item runtime.Object) error {
			if p := item.(client.Object); o.secretOf(p) == client.ObjectKeyFromObject(secret) {
				requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
			}
			return nil
		})
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue the providers with the login in the Secret")
	}
	return requests
}

// Reconcile looks at a provider, and shows whether it can be used.
func (o *providers) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	provider := o.empty.DeepCopyObject().(conditioned)
	if err := o.Get(ctx, req.NamespacedName, provider); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := provider.DeepCopyObject().(conditioned)
	version, err := o.ask(ctx, provider)
	if ctx.Err() != nil { // the manager shuts down
		return ctrl.Result{}, ctx.Err()
	}
	if _, status := described(provider); version != "" {
		status.Version = cut(version)
	}
	reason, message := ReasonAnswers, ""
	if err != nil {
		reason, message = ReasonUnreachable, err.Error()
	}
	set(provider, krakev1.ReachableCondition, trueIf(err == nil), reason, message)
	if err := patch.All(ctx, o.Client, before, provider); err != nil {
		return ctrl.Result{}, err
	}
	was, is := reachable(before), reachable(provider)
	switch {
	case was != nil && was.Status == is.Status:
	case err != nil:
		o.events.Eventf(provider, nil, corev1.EventTypeWarning, reason, "Observe", "Clusters can't be made or changed: %s", cutTo(message, maxNote))
	default:
		o.events.Eventf(provider, nil, corev1.EventTypeNormal, reason, "Observe", "The provider answers and takes the login; its version is %s", cut(version))
	}
	pause := silentPause
	if err == nil {
		pause = wellPause
	}
	return ctrl.Result{RequeueAfter: wait.Jitter(pause*o.Interval, 0.1)}, nil
}

func reachable(p conditioned) *metav1.Condition {
	return meta.FindStatusCondition(p.GetConditions(), krakev1.ReachableCondition)
}

// ask a provider for its version, and whether it takes the login, which a version needs not.
func (o *providers) ask(ctx context.Context, p client.Object) (version string, _ error) {
	spec, _ := described(p)
	name, secret := o.secretOf(p), &corev1.Secret{}
	switch err := o.secrets.Get(ctx, name, secret); {
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("secret %s does not exist: create it", name)
	case err != nil:
		return "", fmt.Errorf("read Secret %s: %w", name, err)
	}
	api, err := im.Connect(spec.IM.URL, nil, o.Change)(secret)
	if err != nil {
		return "", fmt.Errorf("correct the provider or its Secret: %w", err)
	}
	defer api.CloseIdleConnections()
	if version, err = api.Version(ctx); err != nil {
		return "", err
	}
	_, err = api.List(ctx, "")
	return version, err
}
