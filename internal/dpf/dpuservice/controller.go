package dpuservice

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/status"
	"github.com/bedplate/bedplate/internal/patch"
)

// conditions that Ready sums up.
var conditions = []string{
	svcv1.DPUServiceInterfaceReconciledCondition, svcv1.ApplicationPrereqsReconciledCondition,
	svcv1.ApplicationsReconciledCondition, svcv1.ApplicationsReadyCondition,
}

// reconciler of DPUServices. Its client reads unstructured objects live, and cached from the cache.
type reconciler struct {
	client.Client
	cached, live client.Reader
	events       events.EventRecorder
	Config
}

// Reconcile a DPUService.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	service := &svcv1.DPUService{}
	if err := r.Get(ctx, req.NamespacedName, service); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := service.DeepCopy()
	var err error
	var again time.Duration
	switch {
	case service.DeletionTimestamp != nil:
		gone, err := r.delete(ctx, service)
		if gone && err == nil {
			return ctrl.Result{}, patch.RemoveFinalizer(ctx, r.Client, service, svcv1.DPUServiceFinalizer)
		}
		return ctrl.Result{RequeueAfter: r.Poll}, joined([]error{err, patch.All(ctx, r.Client, before, service)})
	case service.Spec.Paused:
		err = r.pause(ctx, service)
		status.Set(service, svcv1.ReadyCondition, svcv1.ReasonPending, "it is paused: take spec.paused out to go on")
		service.Status.ObservedGeneration = service.Generation
	default:
		if err = patch.AddFinalizer(ctx, r.Client, service, svcv1.DPUServiceFinalizer); err != nil {
			return ctrl.Result{}, err
		}
		if again, err = r.deploy(ctx, service); apierrors.IsConflict(err) {
			return ctrl.Result{}, err // what is written now isn't the last word
		}
		status.Sum(service, conditions...)
	}
	return ctrl.Result{RequeueAfter: again}, joined([]error{err, patch.All(ctx, r.Client, before, service)})
}

// deploy a service in all of its clusters. It returns when it has to be looked at again; 0 is never.
func (r *reconciler) deploy(ctx context.Context, service *svcv1.DPUService) (again time.Duration, _ error) {
	seen, err := r.look(ctx) // once: all that follows is about the same clusters
	if err != nil {
		status.Set(service, svcv1.ApplicationPrereqsReconciledCondition, svcv1.ReasonError, err.Error())
		return 0, err
	}
	interfaces, problems, err := r.claim(ctx, service)
	var asked requests
	if err == nil && len(problems) == 0 {
		asked, problems, err = r.requests(ctx, interfaces, seen.all)
	}
	if err != nil {
		status.Set(service, svcv1.DPUServiceInterfaceReconciledCondition, svcv1.ReasonError, err.Error())
		return 0, err
	}
	status.Done(service, svcv1.DPUServiceInterfaceReconciledCondition, svcv1.ReasonFailure, problems)
	targets, err := r.targets(ctx, service, seen)
	if err != nil {
		status.Set(service, svcv1.ApplicationPrereqsReconciledCondition, svcv1.ReasonError, err.Error())
		return 0, err
	}
	if err := r.confine(ctx, service); err != nil {
		return 0, err
	}
	if len(problems) > 0 { // without its interfaces the service would run, and do nothing
		status.Set(service, svcv1.ApplicationsReconciledCondition, svcv1.ReasonPending, "see DPUServiceInterfaceReconciled")
		status.Set(service, svcv1.ApplicationsReadyCondition, svcv1.ReasonPending, "see DPUServiceInterfaceReconciled")
		return 0, nil
	}
	values := map[types.NamespacedName]map[string]any{}
	for _, cluster := range targets.wanted {
		if values[cluster], err = valuesOf(service, interfaces, asked[cluster]); err != nil {
			status.Set(service, svcv1.ApplicationsReconciledCondition, svcv1.ReasonFailure, err.Error())
			status.Set(service, svcv1.ApplicationsReadyCondition, svcv1.ReasonPending, "the values of the chart can't be used")
			return 0, nil
		}
	}
	if again, err = r.applyAll(ctx, service, targets, values); err != nil {
		return again, err
	}
	return again, r.release(ctx, r.Client, service, service.Spec.Interfaces)
}

// targets are the clusters that a service is deployed in, as far as Argo CD knows them.
type targets struct {
	seen
	// wanted are all, known those with a Secret and in the project.
	wanted, known []types.NamespacedName
	// reachable are those that answer.
	reachable map[types.NamespacedName]bool
}

func (r *reconciler) targets(ctx context.Context, service *svcv1.DPUService, seen seen) (t targets, _ error) {
	var problems []string
	kind := svcv1.ApplicationPrereqsReconciledCondition
	t.seen, t.reachable = seen, map[types.NamespacedName]bool{host: true}
	unusable := map[types.NamespacedName]bool{}
	if service.Spec.DeployInCluster {
		t.wanted = []types.NamespacedName{host}
	} else {
		for _, c := range seen.all {
			t.wanted, t.reachable[c.Name] = append(t.wanted, c.Name), c.Client != nil
			unusable[c.Name] = c.Access == nil
			err := c.Err
			if c.Client != nil && service.Namespace != r.Namespace { // Argo CD may not create it
				err = dpucluster.EnsureNamespace(ctx, c.Client, service.Namespace)
			}
			if c.Access == nil || c.Client != nil && err != nil {
				problems = append(problems, fmt.Sprintf("DPU cluster %s: %v", c.Name, err))
			}
		}
	}
	for _, cluster := range t.wanted {
		if unusable[cluster] { // Argo CD may have a Secret of it, but whether it is allowed isn't known after a start
			continue
		}
		missing, err := r.missing(ctx, service.Namespace, cluster)
		if err != nil {
			return t, err
		}
		if missing == "" {
			t.known = append(t.known, cluster)
			continue
		}
		problems = append(problems, missing)
	}
	if len(t.wanted) == 0 {
		problems = []string{"there is no DPU cluster: create a TenantControlPlane of Kamaji"}
		for _, c := range seen.notAllowed {
			problems = append(problems, fmt.Sprintf("DPU cluster %s: %v", c.Name, c.Err))
		}
	}
	status.Done(service, kind, svcv1.ReasonPending, problems)
	return t, nil
}

// missing is what Argo CD lacks for a namespace's services in a cluster; "" is nothing.
func (r *reconciler) missing(ctx context.Context, namespace string, cluster types.NamespacedName) (string, error) {
	if cluster != host {
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		key := types.NamespacedName{Namespace: r.Namespace, Name: clusterSecretName(cluster)}
		err := r.cached.Get(ctx, key, secret)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("read Secret %s: %w", key, err)
		}
		if secret.Labels[managedLabel] != managed { // or there is none
			return "Argo CD has no Secret " + key.Name + " of ours for DPU cluster " + cluster.String(), nil
		}
	}
	return r.admits(ctx, namespace, cluster)
}

// pause the Applications that there are.
func (r *reconciler) pause(ctx context.Context, service *svcv1.DPUService) error {
	applications, err := r.applications(ctx, r.cached, service)
	for i := range applications {
		a := &applications[i]
		if a.GetAnnotations()[SkipAnnotation] == "true" {
			continue
		}
		err = errors.Join(err, r.change(ctx, a, func() {
			a.SetAnnotations(with(a.GetAnnotations(), SkipAnnotation, "true"))
		}))
	}
	return err
}

// change an Application as it was read, or not at all.
func (r *reconciler) change(ctx context.Context, a *unstructured.Unstructured, change func()) error {
	before := a.DeepCopy()
	change()
	err := r.Patch(ctx, a, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("change Application %s: %w", a.GetName(), err)
	}
	return nil
}

// applications of a service.
func (r *reconciler) applications(ctx context.Context, from client.Reader, service *svcv1.DPUService) ([]unstructured.Unstructured, error) {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(ApplicationKind.GroupVersion().WithKind("ApplicationList"))
	err := from.List(ctx, all, client.InNamespace(r.Namespace), client.MatchingLabels{uidLabel: string(service.UID)})
	if err != nil {
		return nil, fmt.Errorf("list the Applications of the service: %w", err)
	}
	return all.Items, nil
}
