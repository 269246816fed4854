// Package dpuservice deploys DPUServices by Argo CD: in each DPU cluster, or in the host cluster. It gives Argo CD its clusters and
// projects, and DPU clusters the pull secrets.
package dpuservice

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/patch"
)

// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=dpuservices,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=dpuservices/status,verbs=patch
// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=dpuserviceinterfaces,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=argoproj.io,resources=applications;appprojects,verbs=get;list;watch;create;patch;delete,namespace=dpf-operator-system
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create;update;delete,namespace=dpf-operator-system
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;patch,resourceNames=dpf-pull-secret-copies,namespace=dpf-operator-system
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Config of the controllers.
type Config struct {
	// Namespace of the operator, and of Argo CD: its DPUServices may deploy anything.
	Namespace string
	// SourceRepos are patterns of the repositories of all others, as in an AppProject: "*" is any.
	SourceRepos []string
	// Clusters are the DPU clusters.
	Clusters *dpucluster.Clusters
	// Poll is how often something is looked at that waits, and of which no event may come.
	Poll time.Duration
}

// Cached is what is kept in memory of Argo CD's objects: those of its namespace, which the rights are for.
func Cached(namespace string) map[client.Object]cache.ByObject {
	in := cache.ByObject{Namespaces: map[string]cache.Config{namespace: {}}}
	return map[client.Object]cache.ByObject{empty(ApplicationKind): in, empty(ProjectKind): in}
}

// Setup registers the controllers.
func Setup(mgr ctrl.Manager, config Config, options controller.Options) error {
	recorder := mgr.GetEventRecorder("dpf-dpuservice")
	services := &reconciler{Client: mgr.GetClient(), cached: mgr.GetCache(), live: mgr.GetAPIReader(), events: recorder, Config: config}
	shared := &prerequisites{Client: mgr.GetClient(), cached: mgr.GetCache(), live: mgr.GetAPIReader(), Config: config}
	secrets := &mirror{Client: mgr.GetClient(), cached: mgr.GetCache(), live: mgr.GetAPIReader(), events: recorder, Config: config}
	return errors.Join(services.setup(mgr, options), shared.setup(mgr, options), secrets.setup(mgr, options))
}

func (r *reconciler) setup(mgr ctrl.Manager, options controller.Options) error {
	all := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []ctrl.Request { return r.all(ctx) })
	err := ctrl.NewControllerManagedBy(mgr).Named("dpuservice").For(&svcv1.DPUService{}).
		Watches(empty(ApplicationKind), handler.EnqueueRequestsFromMapFunc(deployed)).
		Watches(empty(ProjectKind), all, builder.WithPredicates(isManaged)).
		WatchesMetadata(&corev1.Secret{}, all, builder.WithPredicates(isManaged)).
		Watches(&svcv1.DPUServiceInterface{}, handler.EnqueueRequestsFromMapFunc(r.connected)).
		Watches(&svcv1.DPUServiceChain{}, handler.EnqueueRequestsFromMapFunc(r.neighbours), changes).
		Watches(&svcv1.DPUServiceIPAM{}, handler.EnqueueRequestsFromMapFunc(r.neighbours), changes).
		WatchesRawSource(r.Clusters.Source(func(ctx context.Context, e dpucluster.Event) []ctrl.Request {
			if e.Object != nil {
				return nil
			}
			return r.all(ctx)
		})).WithOptions(options).Complete(patch.ExpectConflicts(r))
	if err != nil {
		return fmt.Errorf("set up the controller of DPUServices: %w", err)
	}
	return nil
}

var isManaged = predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()[managedLabel] == managed })

func empty(kind schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return o
}

// deployed is the DPUService that an Application is of.
func deployed(_ context.Context, application client.Object) []ctrl.Request {
	namespace, name, ok := strings.Cut(application.GetAnnotations()[serviceAnnotation], "/")
	if !ok {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

func (r *reconciler) all(ctx context.Context) (requests []ctrl.Request) {
	var services svcv1.DPUServiceList
	if err := r.List(ctx, &services); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue all DPUServices")
	}
	for i := range services.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&services.Items[i])})
	}
	return requests
}

// changes of a spec.
var changes = builder.WithPredicates(predicate.GenerationChangedPredicate{})

// neighbours are the DPUServices with interfaces in the namespace of a chain or a pool.
func (r *reconciler) neighbours(ctx context.Context, o client.Object) (requests []ctrl.Request) {
	return r.services(ctx, o, func(s *svcv1.DPUService) bool { return len(s.Spec.Interfaces) > 0 })
}

// connected are the DPUServices of the namespace that name an interface, and the one that has it.
func (r *reconciler) connected(ctx context.Context, o client.Object) (requests []ctrl.Request) {
	return r.services(ctx, o, func(s *svcv1.DPUService) bool {
		return s.Name == o.GetAnnotations()[svcv1.UsedByAnnotation] || names(s, o.GetName())
	})
}

// services of the namespace of an object that it concerns.
func (r *reconciler) services(ctx context.Context, o client.Object, concerned func(*svcv1.DPUService) bool) (requests []ctrl.Request) {
	var services svcv1.DPUServiceList
	if err := r.List(ctx, &services, client.InNamespace(o.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue DPUServices", "because of", client.ObjectKeyFromObject(o))
	}
	for i := range services.Items {
		if s := &services.Items[i]; concerned(s) {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s)})
		}
	}
	return requests
}
