package argo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	synced, outOfSync, unknown = "Synced", "OutOfSync", "Unknown"
	succeeded, failed, running = "Succeeded", "Failed", "Running"
	owner                      = client.FieldOwner("argocd-controller")
)

// outcome of a comparison, and of the sync, if there was one.
type outcome struct {
	// problem of the comparison: nothing else is known then but the health.
	problem   error
	health    string
	resources []any
	// operation is nil where nothing differs: Argo CD adopts what is as it has to be.
	operation map[string]any
	// givenUp says why nothing is done about a difference.
	givenUp string
}

// sync the objects of a release that differ from what is there, and remove those that aren't in it any more.
func (a *Argo) sync(ctx context.Context, app *unstructured.Unstructured) outcome {
	s, err := a.compare(ctx, app)
	if err != nil { // what was deployed before is as healthy as it was
		health, _, _ := unstructured.NestedString(app.Object, "status", "health", "status")
		return outcome{problem: err, health: health}
	}
	if len(s.different)+len(s.stale) == 0 && app.Object["operation"] == nil {
		return outcome{health: health(s.objects), resources: s.resources()}
	}
	n := next(app)
	if n == nil {
		message, _, _ := unstructured.NestedString(app.Object, "status", "operationState", "message")
		return outcome{health: health(s.objects), resources: s.resources(), givenUp: "Failed sync attempt: " + message}
	}
	if err := a.begin(ctx, app, n, s); err != nil {
		return outcome{problem: err}
	}
	if refused := s.refused(); len(refused) > 0 { // nothing is done then
		return outcome{health: health(s.objects), resources: s.resources(), operation: n.state(failed,
			"one or more synchronization tasks are not valid", app, refused)}
	}
	if err := s.run(ctx); err != nil {
		return outcome{health: health(s.objects), resources: s.resources(), operation: n.state(failed, err.Error(), app, nil)}
	}
	return outcome{health: health(s.objects), resources: s.resources(), operation: n.state(succeeded, "successfully synced", app, nil)}
}

// comparison of a release with what is there.
type comparison struct {
	app     *unstructured.Unstructured
	to      client.Client
	project project
	release Release
	// objects of the release: as they are, but for those that are different.
	objects   []*unstructured.Unstructured
	different map[*unstructured.Unstructured]bool
	// stale is what was deployed before, and isn't in the release.
	stale []map[string]any
}

func (a *Argo) compare(ctx context.Context, app *unstructured.Unstructured) (*comparison, error) {
	c := &comparison{app: app, release: releaseOf(app), different: map[*unstructured.Unstructured]bool{}}
	var err error
	if c.project, err = a.project(ctx, app); err != nil {
		return nil, err
	}
	if err := c.project.application(app); err != nil {
		return nil, err
	}
	if c.to, err = a.destination(ctx, app); err != nil {
		return nil, err
	}
	if c.objects, err = a.Charts(c.release); err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, o := range c.objects {
		if namespaced, err := c.to.IsObjectNamespaced(o); err == nil && namespaced && o.GetNamespace() == "" {
			o.SetNamespace(c.release.Namespace)
		}
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[trackingID] = tracked(app, o)
		o.SetAnnotations(annotations)
		wanted[key(resourceOf(o, ""))] = true
		differs, err := c.differs(ctx, o)
		if err != nil {
			return nil, err
		}
		if differs {
			c.different[o] = true
		}
	}
	before, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
	prune, _, _ := unstructured.NestedBool(app.Object, "spec", "syncPolicy", "automated", "prune")
	for _, resource := range before {
		fields := resource.(map[string]any)
		if prune && !wanted[key(fields)] && c.permits(objectOf(fields)) {
			c.stale = append(c.stale, fields)
		}
	}
	return c, nil
}

func (c *comparison) permits(o *unstructured.Unstructured) bool {
	return c.project.object(c.to, c.app, o) == nil
}

// differs reports whether a sync would change an object, which becomes as it is there otherwise. What isn't permitted isn't seen.
func (c *comparison) differs(ctx context.Context, o *unstructured.Unstructured) (bool, error) {
	if !c.permits(o) {
		return true, nil
	}
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(o.GroupVersionKind())
	switch err := c.to.Get(ctx, client.ObjectKeyFromObject(o), now); {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("failed to load live state: %w", err)
	}
	after := o.DeepCopy()
	switch err := c.to.Apply(ctx, client.ApplyConfigurationFromUnstructured(after), owner, client.ForceOwnership, client.DryRunAll); {
	case apierrors.IsInvalid(err), apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("failed to compare %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	after.SetManagedFields(nil)
	after.SetResourceVersion(now.GetResourceVersion())
	as := now.DeepCopy()
	as.SetManagedFields(nil)
	if !equality.Semantic.DeepEqual(as.Object, after.Object) {
		return true, nil
	}
	o.Object = now.Object
	return false, nil
}

// refused objects, with the reasons.
func (c *comparison) refused() (results []any) {
	for _, o := range c.objects {
		if err := c.project.object(c.to, c.app, o); err != nil {
			result := resourceOf(o, "SyncFailed")
			result["message"] = err.Error()
			results = append(results, result)
		}
	}
	return results
}

// run the sync: afterwards nothing differs.
func (c *comparison) run(ctx context.Context) error {
	options, _, _ := unstructured.NestedStringSlice(c.app.Object, "spec", "syncPolicy", "syncOptions")
	if slices.Contains(options, "CreateNamespace=true") {
		namespace := &unstructured.Unstructured{}
		namespace.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
		namespace.SetName(c.release.Namespace)
		if err := c.project.object(c.to, c.app, namespace); err != nil {
			return err
		}
		if err := c.to.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the namespace: %w", err)
		}
	}
	for _, o := range c.objects {
		if !c.different[o] {
			continue
		}
		if err := c.to.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), owner, client.ForceOwnership); err != nil {
			return fmt.Errorf("sync %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		delete(c.different, o)
	}
	for _, resource := range c.stale {
		if _, err := remove(ctx, c.to, c.app, resource); err != nil {
			return err
		}
	}
	c.stale = nil
	return nil
}

func (c *comparison) resources() (all []any) {
	for _, o := range c.objects {
		status := synced
		if c.different[o] {
			status = outOfSync
		}
		all = append(all, resourceOf(o, status))
	}
	for _, resource := range c.stale {
		resource["status"] = outOfSync
		all = append(all, resource)
	}
	return all
}

func health(objects []*unstructured.Unstructured) string {
	for _, o := range objects {
		if !healthy(o) {
			return "Progressing"
		}
	}
	return "Healthy"
}

// begin a sync: that there was one, and of what, is noted before. So a deletion finds what the sync has made, even if its end isn't reported.
func (a *Argo) begin(ctx context.Context, app *unstructured.Unstructured, n *attempt, c *comparison) error {
	before := app.DeepCopy()
	status, _, _ := unstructured.NestedMap(app.Object, "status")
	if status == nil {
		status = map[string]any{}
	}
	if status["operationState"] == nil || app.Object["operation"] != nil {
		delete(app.Object, "operation")
		status["operationState"] = map[string]any{"phase": running, "operation": n.operation}
	}
	status["resources"] = c.resources()
	app.Object["status"] = status
	if equality.Semantic.DeepEqual(before.Object, app.Object) {
		return nil
	}
	return a.Patch(ctx, app, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// history with the sync that has ended.
func history(app *unstructured.Unstructured) []any {
	limit, limited, _ := unstructured.NestedInt64(app.Object, "spec", "revisionHistoryLimit")
	if !limited {
		limit = 10
	}
	all, _, _ := unstructured.NestedSlice(app.Object, "status", "history")
	all = append(all, map[string]any{"revision": releaseOf(app).Version, "source": source(app)})
	return all[max(0, len(all)-int(limit)):]
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

func source(app *unstructured.Unstructured) any {
	return runtime.DeepCopyJSONValue(app.Object["spec"].(map[string]any)["source"])
}

// report an outcome.
func (a *Argo) report(ctx context.Context, app *unstructured.Unstructured, o outcome) error {
	before := app.DeepCopy()
	spec := app.Object["spec"].(map[string]any)
	last, _ := before.Object["status"].(map[string]any)
	status := map[string]any{"health": map[string]any{"status": cmp.Or(o.health, unknown)}}
	resources := o.resources
	sync := map[string]any{"status": synced, "comparedTo": map[string]any{"source": source(app), "destination": spec["destination"]}}
	status["sync"] = sync
	for _, kept := range []string{"operationState", "history"} {
		if last[kept] != nil {
			status[kept] = last[kept]
		}
	}
	switch {
	case o.problem != nil:
		sync["status"] = unknown
		status["conditions"] = []any{map[string]any{"type": "ComparisonError", "message": o.problem.Error()}}
		resources, _, _ = unstructured.NestedSlice(before.Object, "status", "resources")
		for _, resource := range resources { // the real one has none then, and finds what it has deployed by its mark
			resource.(map[string]any)["status"] = unknown
		}
	case o.givenUp != "":
		sync["status"] = outOfSync
		status["conditions"] = []any{map[string]any{"type": "SyncError", "message": o.givenUp}}
	case o.operation != nil:
		status["operationState"] = o.operation
		if o.operation["phase"] != succeeded {
			sync["status"] = outOfSync
		} else if all := history(app); len(all) > 0 {
			status["history"] = all
		}
	}
	if len(resources) > 0 {
		status["resources"] = resources
	}
	app.Object["status"] = status
	if equality.Semantic.DeepEqual(before.Object, app.Object) {
		return nil
	}
	err := a.Patch(ctx, app, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		return nil // it is compared again
	}
	return client.IgnoreNotFound(err)
}
