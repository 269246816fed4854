// Package guard keeps what clusters are made with as long as something needs it: the providers that clouds name, the clouds that
// Clusters are on, and the Secrets of both. So a file or a namespace can be deleted at once, and infrastructures are still deleted.
package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/patch"
)

// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=clouds;globalclouds,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=infrastructureproviders;globalinfrastructureproviders,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=clouds/status;globalclouds/status,verbs=patch
// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=infrastructureproviders/status;globalinfrastructureproviders/status,verbs=patch
// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=ledgers,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Finalizer keeps clouds and providers in use.
const Finalizer = "krake.bedplate.dev/in-use"

// SecretFinalizer keeps the Secrets of clouds and providers.
const SecretFinalizer = "bedplate.dev/in-use-by-krake" //nolint:gosec // a name, not a credential

// ReasonInUse is that of the condition Deleting, and of the event.
const ReasonInUse = "InUse"

// Config of the guards.
type Config struct {
	// GlobalNamespace has the Secrets of Global kinds. If it is empty, these aren't guarded: who doesn't see all that uses them lets go of it.
	GlobalNamespace string
	Options         controller.Options
}

// Guards keep what Clusters are made on and with.
type Guards struct {
	client  client.Client
	live    client.Reader
	secrets *credentials.Guard
}

// Setup registers the guards.
func Setup(ctx context.Context, mgr ctrl.Manager, config Config) (*Guards, error) {
	var failed []error
	for _, kept := range kinds() {
		if config.GlobalNamespace == "" && strings.HasPrefix(kept.name, "Global") {
			continue
		}
		k := &keeper{mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("bedplate-krake"), kept}
		failed = append(failed, k.setup(mgr, config.Options))
	}
	secrets, err := setupSecrets(ctx, mgr, config)
	return &Guards{mgr.GetClient(), mgr.GetAPIReader(), secrets}, errors.Join(append(failed, err)...)
}

// Keep a cloud, a provider and their Secrets right before the first thing is made with them, if they aren't kept yet. Where that fails
// nothing may be made: they could go, and what is outside would stay.
func (g *Guards) Keep(ctx context.Context, objects []client.Object, secrets ...types.NamespacedName) error {
	for _, name := range secrets {
		if err := g.secrets.Keep(ctx, name); err != nil {
			return err
		}
	}
	for _, object := range objects {
		if controllerutil.ContainsFinalizer(object, Finalizer) {
			continue
		}
		if err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return g.keep(ctx, object) }); err != nil {
			return err
		}
	}
	return nil
}

// keep an object that the cache has without a finalizer.
func (g *Guards) keep(ctx context.Context, object client.Object) error {
	if err := g.live.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return fmt.Errorf("get %s: %w", object.GetName(), err)
	}
	if !object.GetDeletionTimestamp().IsZero() && !controllerutil.ContainsFinalizer(object, Finalizer) {
		return fault.Invalidf("%s is being deleted, and is used: create it again", object.GetName())
	}
	return patch.AddFinalizer(ctx, g.client, object, Finalizer)
}

// kind that is kept while it is used.
type kind struct {
	name  string
	empty object
	// users are the kinds that may use one, and used the names of those that one of them uses.
	users []user
	used  func(client.Object) []types.NamespacedName
}

// object is a cloud or a provider.
type object interface {
	client.Object
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
}

type user struct {
	title string
	empty client.Object
	list  client.ObjectList
}

func kinds() []kind {
	clusters := []user{{"Cluster", &krakev1.Cluster{}, &krakev1.ClusterList{}}}
	clouds := []user{
		{krakev1.KindCloud, &krakev1.Cloud{}, &krakev1.CloudList{}},
		{krakev1.KindGlobalCloud, &krakev1.GlobalCloud{}, &krakev1.GlobalCloudList{}},
	}
	return []kind{
		{krakev1.KindCloud, &krakev1.Cloud{}, clusters, cloudsOf(krakev1.KindCloud)},
		{krakev1.KindGlobalCloud, &krakev1.GlobalCloud{}, clusters, cloudsOf(krakev1.KindGlobalCloud)},
		{"InfrastructureProvider", &krakev1.InfrastructureProvider{}, clouds, providerOf(true)},
		{"GlobalInfrastructureProvider", &krakev1.GlobalInfrastructureProvider{}, clouds, providerOf(false)},
	}
}

// cloudsOf one kind that a Cluster is bound to, or was made on.
func cloudsOf(kind string) func(client.Object) []types.NamespacedName {
	return func(cluster client.Object) (names []types.NamespacedName) {
		status := cluster.(*krakev1.Cluster).Status
		for _, to := range []*krakev1.CloudReference{status.ScheduledTo, status.RunningOn} {
			switch {
			case to == nil || to.Kind != kind:
			case kind == krakev1.KindGlobalCloud:
				names = append(names, types.NamespacedName{Name: to.Name})
			default:
				names = append(names, types.NamespacedName{Namespace: cluster.GetNamespace(), Name: to.Name})
			}
		}
		return names
	}
}

// providerOf a cloud, if it is a namespaced one, or a global one.
func providerOf(namespaced bool) func(client.Object) []types.NamespacedName {
	return func(cloud client.Object) []types.NamespacedName {
		ref := cloud.(krakev1.AnyCloud).Described().Use().InfrastructureProvider
		name := types.NamespacedName{Name: ref.Name}
		switch {
		case ref.Namespaced != namespaced:
			return nil
		case namespaced:
			name.Namespace = cloud.GetNamespace()
		}
		return []types.NamespacedName{name}
	}
}

// keeper of one kind.
type keeper struct {
	client.Client
	// live reads past the cache.
	live   client.Reader
	events events.EventRecorder
	kind
}

func (k *keeper) setup(mgr ctrl.Manager, options controller.Options) error {
	b := ctrl.NewControllerManagedBy(mgr).Named("krake-" + strings.ToLower(k.name) + "-guard").For(k.empty)
	for _, user := range k.users { // also what one has used before a change is enqueued
		b = b.Watches(user.empty, handler.EnqueueRequestsFromMapFunc(k.named))
	}
	if err := b.WithOptions(options).Complete(patch.ExpectConflicts(k)); err != nil {
		return fmt.Errorf("set up the guard of %ss: %w", k.name, err)
	}
	return nil
}

func (k *keeper) named(_ context.Context, user client.Object) (requests []ctrl.Request) {
	for _, name := range k.used(user) {
		requests = append(requests, ctrl.Request{NamespacedName: name})
	}
	return requests
}

// Reconcile keeps what is in use, lets go what isn't any more, and says of what is being deleted why it is still there.
func (k *keeper) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	kept := k.empty.DeepCopyObject().(object)
	if err := k.Get(ctx, req.NamespacedName, kept); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	users, err := k.usersOf(ctx, k.Client, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	deleted, has := !kept.GetDeletionTimestamp().IsZero(), controllerutil.ContainsFinalizer(kept, Finalizer)
	if deleted && has && len(users) == 0 { // for good, so the cache isn't enough
		if users, err = k.usersOf(ctx, k.live, req.NamespacedName); err != nil {
			return ctrl.Result{}, err
		}
	}
	switch {
	case len(users) == 0:
		return ctrl.Result{}, patch.RemoveFinalizer(ctx, k.Client, kept, Finalizer)
	case !deleted:
		return ctrl.Result{}, patch.AddFinalizer(ctx, k.Client, kept, Finalizer)
	case has:
		return ctrl.Result{}, k.say(ctx, kept, users)
	}
	return ctrl.Result{}, nil
}

// usersOf a cloud or a provider, for a message.
func (k *keeper) usersOf(ctx context.Context, c client.Reader, name types.NamespacedName) (users []string, _ error) {
	for _, user := range k.users {
		list := user.list.DeepCopyObject().(client.ObjectList)
		if err := c.List(ctx, list, client.InNamespace(name.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list the users of %s %s: %w", k.name, name.Name, err)
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error { // can't fail
			one := item.(client.Object)
			if slices.Contains(k.used(one), name) {
				users = append(users, user.title+" "+strings.TrimPrefix(client.ObjectKeyFromObject(one).String(), "/"))
			}
			return nil
		})
	}
	slices.Sort(users)
	return users, nil
}

// say by whom something is used that is being deleted.
func (k *keeper) say(ctx context.Context, kept object, users []string) error {
	const most = 10
	text := strings.Join(users[:min(len(users), most)], ", ")
	if more := len(users) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	text = "it is still used by " + text + ": delete these first"
	before := kept.DeepCopyObject().(object)
	conditions := kept.GetConditions()
	changed := meta.SetStatusCondition(&conditions, metav1.Condition{
		Type: krakev1.DeletingCondition, Status: metav1.ConditionTrue, Reason: ReasonInUse, Message: text, ObservedGeneration: kept.GetGeneration(),
	})
	if !changed {
		return nil
	}
	kept.SetConditions(conditions)
	if err := patch.All(ctx, k.Client, before, kept); err != nil {
		return err
	}
	k.events.Eventf(kept, nil, corev1.EventTypeWarning, ReasonInUse, "Delete", "%s", text[:min(len(text), maxNote)])
	return nil
}

// maxNote is how many bytes the text of an event may have.
const maxNote = 1024
