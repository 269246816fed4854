// Package argo stands for Argo CD: it syncs Applications into the clusters of its cluster Secrets where they differ, prunes, heals,
// cascades, and reports sync and health. Instead of rendering Helm charts it asks a function for a chart's objects.
package argo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bedplate/bedplate/internal/queue"
)

// CRDs are a subset of Argo CD's.
//
//go:embed crds.yaml
var CRDs []byte

// workers, so that a cluster that does not answer keeps none of the others waiting.
const workers = 10

// Names of Argo CD.
const (
	cascadeFinalizer = "resources-finalizer.argocd.argoproj.io"
	skipAnnotation   = "argocd.argoproj.io/skip-reconcile"
	trackingID       = "argocd.argoproj.io/tracking-id"
	hostServer       = "https://kubernetes.default.svc"
)

var (
	applicationKind = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
	projectKind     = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "AppProject"}
)

// Release is a chart with its values, as an Application names it.
type Release struct {
	Application, RepoURL, Chart, Path, Version, Name, Namespace string
	Values                                                      map[string]any
}

// Charts returns the objects that a release consists of.
type Charts func(Release) ([]*unstructured.Unstructured, error)

// Argo syncs the Applications of one namespace.
type Argo struct {
	// Client of the host cluster.
	client.Client
	Namespace string
	Charts    Charts
	// Interval is how often an Application is compared with its cluster.
	Interval time.Duration

	clusters clusters
}

// SetupWithManager registers it.
func (a *Argo) SetupWithManager(mgr ctrl.Manager) error {
	application := &unstructured.Unstructured{}
	application.SetGroupVersionKind(applicationKind)
	return ctrl.NewControllerManagedBy(mgr).Named("argo-cd").
		Watches(application, &handler.EnqueueRequestForObject{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, NewQueue: queue.New[reconcile.Request]}).Complete(a)
}

// Reconcile an Application.
func (a *Argo) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(applicationKind)
	if err := a.Get(ctx, req.NamespacedName, app); err != nil || req.Namespace != a.Namespace {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if app.GetAnnotations()[skipAnnotation] == "true" {
		return ctrl.Result{}, nil
	}
	later := ctrl.Result{RequeueAfter: a.Interval}
	if app.GetDeletionTimestamp() != nil {
		return later, a.finalize(ctx, app)
	}
	return later, a.report(ctx, app, a.sync(ctx, app))
}

func releaseOf(app *unstructured.Unstructured) Release {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(app.Object, append([]string{"spec"}, fields...)...)
		return value
	}
	values, _, _ := unstructured.NestedMap(app.Object, "spec", "source", "helm", "valuesObject")
	return Release{
		Application: app.GetName(),
		RepoURL:     text("source", "repoURL"), Chart: text("source", "chart"), Path: text("source", "path"),
		Version: text("source", "targetRevision"), Name: text("source", "helm", "releaseName"),
		Namespace: text("destination", "namespace"), Values: values,
	}
}

// healthy as Argo CD sees it: a DaemonSet that no node wants is.
func healthy(o *unstructured.Unstructured) bool {
	number := func(fields ...string) int64 {
		value, _, _ := unstructured.NestedInt64(o.Object, fields...)
		return value
	}
	switch o.GetKind() {
	case "DaemonSet":
		return number("status", "observedGeneration") == o.GetGeneration() &&
			number("status", "numberAvailable") >= number("status", "desiredNumberScheduled")
	case "Deployment":
		return number("status", "observedGeneration") == o.GetGeneration() && number("status", "availableReplicas") >= number("spec", "replicas")
	}
	return true
}

func resourceOf(o *unstructured.Unstructured, status string) map[string]any {
	kind := o.GroupVersionKind()
	return map[string]any{
		"group": kind.Group, "version": kind.Version, "kind": kind.Kind, "namespace": o.GetNamespace(), "name": o.GetName(), "status": status,
	}
}

func key(resource map[string]any) string {
	return fmt.Sprint(resource["group"], "/", resource["kind"], "/", resource["namespace"], "/", resource["name"])
}

func objectOf(resource map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	text := func(field string) string { value, _ := resource[field].(string); return value }
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: text("group"), Version: text("version"), Kind: text("kind")})
	o.SetNamespace(text("namespace"))
	o.SetName(text("name"))
	return o
}

// tracked is how Argo CD marks what an Application has deployed.
func tracked(app, o *unstructured.Unstructured) string {
	kind := o.GroupVersionKind()
	return fmt.Sprintf("%s:%s/%s:%s/%s", app.GetName(), kind.Group, kind.Kind, o.GetNamespace(), o.GetName())
}

// remove an object of an Application, and report whether it is gone.
func remove(ctx context.Context, from client.Client, app *unstructured.Unstructured, resource map[string]any) (gone bool, _ error) {
	o := objectOf(resource)
	if err := from.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil || o.GetAnnotations()[trackingID] != tracked(app, o) {
		return true, client.IgnoreNotFound(err)
	}
	return false, client.IgnoreNotFound(from.Delete(ctx, o))
}

// finalize deletes what an Application has deployed, and lets it go when all of that is gone.
func (a *Argo) finalize(ctx context.Context, app *unstructured.Unstructured) error {
	if !controllerutil.ContainsFinalizer(app, cascadeFinalizer) {
		return nil
	}
	project, err := a.project(ctx, app)
	if err != nil {
		return a.report(ctx, app, outcome{problem: err})
	}
	to, err := a.destination(ctx, app)
	if err != nil {
		return a.report(ctx, app, outcome{problem: err})
	}
	resources, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
	all := true
	for _, resource := range resources {
		if project.object(to, app, objectOf(resource.(map[string]any))) != nil {
			continue // it doesn't delete what isn't permitted, either
		}
		gone, problem := remove(ctx, to, app, resource.(map[string]any))
		all, err = all && gone, errors.Join(err, problem)
	}
	if err != nil {
		return a.report(ctx, app, outcome{problem: err})
	}
	if !all {
		return nil
	}
	before := app.DeepCopy()
	controllerutil.RemoveFinalizer(app, cascadeFinalizer)
	return client.IgnoreNotFound(a.Patch(ctx, app, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}
