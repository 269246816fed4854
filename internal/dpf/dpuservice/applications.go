package dpuservice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/status"
)

// applyAll Applications, remove those of clusters that aren't there any more, and look whether all are ready. It returns when it has to look
// again although nothing changes; 0 is never.
func (r *reconciler) applyAll(
	ctx context.Context, service *svcv1.DPUService, t targets, values map[types.NamespacedName]map[string]any,
) (again time.Duration, _ error) {
	var failures, waiting []string
	var problems []error
	wanted := map[string]bool{}
	for _, cluster := range t.wanted {
		name := applicationName(cluster, service)
		wanted[name] = true
		if !slices.Contains(t.known, cluster) {
			waiting = append(waiting, "Application "+name+": Argo CD doesn't know its cluster yet")
			continue
		}
		now, refused, err := r.apply(ctx, service, r.application(service, cluster, values[cluster]))
		switch {
		case err != nil:
			problems = append(problems, err)
			waiting = append(waiting, "Application "+name+": it couldn't be written")
		case refused != "":
			failures = append(failures, refused)
			waiting = append(waiting, refused)
		default:
			if problem := problemOf(now); problem != "" {
				waiting = append(waiting, problem)
			}
			if !t.reachable[cluster] {
				continue
			}
			due, err := r.resync(ctx, now)
			if problems = append(problems, err); due > 0 && (again == 0 || due < again) {
				again = due
			}
		}
	}
	stale, err := r.removeStale(ctx, service, wanted, t.seen)
	if err != nil {
		problems = append(problems, err)
	}
	problems = slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	kind := svcv1.ApplicationsReconciledCondition
	switch err := errors.Join(problems...); {
	case err != nil && !conflictsOnly(problems):
		status.Set(service, kind, svcv1.ReasonError, err.Error())
	case len(failures) > 0:
		status.Done(service, kind, svcv1.ReasonFailure, failures)
	case len(t.wanted) == 0:
		status.Set(service, kind, svcv1.ReasonPending, "there is no DPU cluster")
		waiting = append(waiting, "there is no DPU cluster")
	case len(t.known) < len(t.wanted):
		status.Set(service, kind, svcv1.ReasonPending, "Argo CD doesn't know all clusters yet")
	default:
		status.Done(service, kind, svcv1.ReasonPending, stale)
	}
	status.Done(service, svcv1.ApplicationsReadyCondition, svcv1.ReasonPending, waiting)
	return again, joined(problems)
}

// conflictsOnly reports whether another look is all that is needed.
func conflictsOnly(problems []error) bool {
	return len(problems) > 0 && !slices.ContainsFunc(problems, func(err error) bool { return !apierrors.IsConflict(err) })
}

// apply an Application, and return it as it is now, or why it can't be written.
func (r *reconciler) apply(ctx context.Context, service *svcv1.DPUService, want *unstructured.Unstructured) (
	now *unstructured.Unstructured, refused string, _ error,
) {
	now = empty(ApplicationKind)
	err := r.cached.Get(ctx, client.ObjectKeyFromObject(want), now)
	switch {
	case apierrors.IsNotFound(err):
		if err := r.Create(ctx, want); err != nil {
			return nil, "", fmt.Errorf("create Application %s: %w", want.GetName(), err)
		}
		return want, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("read Application %s: %w", want.GetName(), err)
	case now.GetAnnotations()[serviceAnnotation] != keyOf(service):
		return nil, "Application " + want.GetName() + " isn't one of this DPUService: rename or delete it", nil
	case now.GetDeletionTimestamp() != nil:
		return now, "", nil // such as of an earlier DPUService of this name; afterwards it is created
	}
	now = now.DeepCopy()
	before := now.DeepCopy()
	now.Object["spec"] = want.Object["spec"]
	annotations := now.GetAnnotations()
	delete(annotations, SkipAnnotation)
	annotations[clusterAnnotation] = want.GetAnnotations()[clusterAnnotation]
	if !neverSynced(now) {
		annotations[deployedAnnotation] = "true"
	}
	now.SetAnnotations(annotations)
	now.SetLabels(with(now.GetLabels(), uidLabel, string(service.UID)))
	controllerutil.AddFinalizer(now, CascadeFinalizer)
	if equality.Semantic.DeepEqual(before.Object, now.Object) {
		return now, "", nil
	}
	if err := r.Patch(ctx, now, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return nil, "", fmt.Errorf("change Application %s: %w", want.GetName(), err)
	}
	return now, "", nil
}

// compared reports whether Argo CD has compared an Application with the spec that it has now.
func compared(o *unstructured.Unstructured) bool {
	source, _, _ := unstructured.NestedMap(o.Object, "spec", "source")
	last, found, _ := unstructured.NestedMap(o.Object, "status", "sync", "comparedTo", "source")
	return found && equality.Semantic.DeepEqual(source, last)
}

// removeStale deletes the Applications that aren't wanted any more, and returns what is still there.
func (r *reconciler) removeStale(
	ctx context.Context, service *svcv1.DPUService, wanted map[string]bool, seen seen,
) (left []string, _ error) {
	all, err := r.applications(ctx, r.cached, service)
	if err != nil {
		return nil, err
	}
	gone, notAllowed := seen.gone(), clusterNames(seen.notAllowed)
	for i := range all {
		if a := &all[i]; !wanted[a.GetName()] && !notAllowed[a.GetAnnotations()[clusterAnnotation]] {
			left = append(left, "Application "+a.GetName()+" has to go first")
			err = errors.Join(err, r.remove(ctx, a, gone(a)))
		}
	}
	return left, err
}

// seen are the DPU clusters at one moment.
type seen struct {
	// all that get something.
	all []dpucluster.Cluster
	// notAllowed are in namespaces that aren't allowed to have any, or not any more: what is there stays, and can be deleted.
	notAllowed []dpucluster.Cluster
}

func (r *reconciler) look(ctx context.Context) (seen, error) {
	all, refused, err := r.Clusters.Seen(ctx)
	return seen{all, dpucluster.NotAllowed(refused)}, err
}

// gone tells whether an Application's DPU cluster doesn't exist any more: nothing in it has to be deleted, and Argo CD couldn't.
func (s seen) gone() func(*unstructured.Unstructured) bool {
	exist := clusterNames(slices.Concat(s.all, s.notAllowed))
	exist[host.String()] = true
	return func(a *unstructured.Unstructured) bool { return !exist[a.GetAnnotations()[clusterAnnotation]] }
}

func clusterNames(clusters []dpucluster.Cluster) map[string]bool {
	names := map[string]bool{}
	for _, c := range clusters {
		names[c.Name.String()] = true
	}
	return names
}

// neverSynced reports whether nothing of an Application is in its cluster, and, where it is being deleted, never will be: Argo CD notes that
// it syncs before it does. What is as it has to be it adopts without a sync. So a cluster that has never answered holds up no deletion.
func neverSynced(a *unstructured.Unstructured) bool {
	if a.GetAnnotations()[deployedAnnotation] != "" || a.Object["operation"] != nil {
		return false
	}
	status, _ := a.Object["status"].(map[string]any)
	sync, _, _ := unstructured.NestedString(status, "sync", "status")
	resources, _, _ := unstructured.NestedSlice(status, "resources")
	return status["operationState"] == nil && status["history"] == nil && !answered(sync) && !slices.ContainsFunc(resources, func(r any) bool {
		fields, _ := r.(map[string]any)
		of, _ := fields["status"].(string)
		return answered(of)
	})
}

// Deployed are the DPU clusters in which Argo CD has something of a DPUService of the operator's, or may have. Without the kind there are none.
func Deployed(ctx context.Context, live client.Reader, service types.NamespacedName) (map[types.NamespacedName]bool, error) {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(ApplicationKind.GroupVersion().WithKind("ApplicationList"))
	err := live.List(ctx, all, client.InNamespace(service.Namespace), client.HasLabels{uidLabel})
	if err != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("list the Applications of DPUService %s: %w", service, err)
	}
	clusters := map[types.NamespacedName]bool{}
	for i := range all.Items {
		a := &all.Items[i]
		if cluster, is := applicationCluster(a); is && a.GetAnnotations()[serviceAnnotation] == service.String() && !neverSynced(a) {
			clusters[cluster] = true
		}
	}
	return clusters, nil
}

// answered reports whether a cluster did when Argo CD compared something there.
func answered(sync string) bool { return sync == "Synced" || sync == "OutOfSync" }

// remove an Application: by Argo CD with all that it has deployed, or without, where that is left.
func (r *reconciler) remove(ctx context.Context, a *unstructured.Unstructured, leave bool) error {
	annotations := a.GetAnnotations()
	if skipped := annotations[SkipAnnotation] != ""; skipped || leave && controllerutil.ContainsFinalizer(a, CascadeFinalizer) {
		err := r.change(ctx, a, func() {
			delete(annotations, SkipAnnotation) // Argo CD would skip the deletion, too
			a.SetAnnotations(annotations)
			if leave {
				controllerutil.RemoveFinalizer(a, CascadeFinalizer)
			}
		})
		if err != nil {
			return err
		}
	}
	if a.GetDeletionTimestamp() != nil {
		return nil
	}
	uid := a.GetUID()
	if err := r.Delete(ctx, a, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Application %s: %w", a.GetName(), err)
	}
	return nil
}

// delete what was made of a service, and report whether all of it is gone. No worker waits for that.
func (r *reconciler) delete(ctx context.Context, service *svcv1.DPUService) (bool, error) {
	if !controllerutil.ContainsFinalizer(service, svcv1.DPUServiceFinalizer) {
		return true, nil
	}
	all, err := r.applications(ctx, r.Client, service) // live: the cache may not have the newest yet
	if err != nil {
		return false, err
	}
	seen, err := r.look(ctx)
	if err != nil {
		return false, err
	}
	gone := seen.gone()
	abandon := service.Annotations[svcv1.AbandonAnnotation] == "true"
	var left, abandoned []string
	var problems []error
	for i := range all {
		a := &all[i]
		leave := abandon || gone(a) || a.GetDeletionTimestamp() != nil && neverSynced(a)
		if abandon && controllerutil.ContainsFinalizer(a, CascadeFinalizer) {
			abandoned = append(abandoned, a.GetAnnotations()[clusterAnnotation])
		}
		left = append(left, "Application "+a.GetName()+" of cluster "+a.GetAnnotations()[clusterAnnotation]+" is still there"+said(a))
		problems = append(problems, r.remove(ctx, a, leave))
	}
	if len(abandoned) > 0 {
		list := strings.Join(abandoned, ", ")
		r.events.Eventf(service, nil, corev1.EventTypeWarning, "Abandoned", "Delete",
			"What it has deployed in these clusters is left there: %.900s", list)
		ctrl.LoggerFrom(ctx).Info("What a DPUService has deployed is left where it is", "clusters", list)
	}
	if len(all) > 0 {
		message := status.List(left) + ". The annotation " + svcv1.AbandonAnnotation + "=true leaves what it has deployed"
		status.Set(service, svcv1.ApplicationsReconciledCondition, svcv1.ReasonAwaitingDeletion, message)
		status.Set(service, svcv1.ReadyCondition, svcv1.ReasonAwaitingDeletion, message)
		return false, errors.Join(problems...)
	}
	return true, r.release(ctx, r.live, service, nil)
}

// applicationCluster is the DPU cluster of an Application.
func applicationCluster(a client.Object) (types.NamespacedName, bool) {
	namespace, name, ok := strings.Cut(a.GetAnnotations()[clusterAnnotation], "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, ok && namespace != ""
}
