// Package dpuset makes of DPUServiceChains, DPUServiceInterfaces and DPUServiceIPAMs what DPU clusters get; and there, of sets, an object
// for each node.
package dpuset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/status"
	"github.com/bedplate/bedplate/internal/patch"
)

// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=dpuservicechains;dpuserviceinterfaces;dpuserviceipams,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=svc.dpu.nvidia.com,resources=dpuservicechains/status;dpuserviceinterfaces/status;dpuserviceipams/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// managedAnnotation is on objects in DPU clusters that were made of the ones with their names in the host cluster.
const managedAnnotation, managed = "svc.dpu.nvidia.com/managed-by", "dpuservice-controller"

// Config of the controllers of the host cluster.
type Config struct {
	// Clusters are the DPU clusters. They cache the kinds of Cached.
	Clusters *dpucluster.Clusters
	// Poll is how often something is looked at that waits, and of which no event may come.
	Poll time.Duration
}

// Cached are the kinds of DPU clusters whose changes the controllers of the host cluster are told of.
func Cached() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&svcv1.ServiceChainSet{}: {}, &svcv1.ServiceInterfaceSet{}: {}}
}

// Setup registers the controllers of the host cluster.
func Setup(mgr ctrl.Manager, config Config, options controller.Options) error {
	var problems []error
	for _, k := range kinds {
		r := &reconciler{Client: mgr.GetClient(), events: mgr.GetEventRecorder("dpf-dpuset"), Config: config, kind: k}
		err := ctrl.NewControllerManagedBy(mgr).Named(strings.ToLower(k.name)).For(k.empty).
			WatchesRawSource(config.Clusters.Source(r.concerned)).WithOptions(options).Complete(patch.ExpectConflicts(r))
		if err != nil {
			problems = append(problems, fmt.Errorf("set up the controller of %ss: %w", k.name, err))
		}
	}
	return errors.Join(problems...)
}

// reconciler of one kind.
type reconciler struct {
	client.Client
	events events.EventRecorder
	Config
	kind
}

// concerned by an event: the object of the same name, or all where it is about the cluster.
func (r *reconciler) concerned(ctx context.Context, e dpucluster.Event) (requests []ctrl.Request) {
	if e.Object != nil {
		if r.remote == nil || reflect.TypeOf(e.Object) != reflect.TypeOf(r.remote) {
			return nil
		}
		return []ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(e.Object)}}
	}
	all := r.list.DeepCopyObject().(client.ObjectList)
	err := r.List(ctx, all)
	if err == nil {
		err = meta.EachListItem(all, func(item runtime.Object) error {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))})
			return nil
		})
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue all objects for a DPU cluster", "kind", r.name)
	}
	return requests
}

// Reconcile an object in all DPU clusters.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o := r.empty.DeepCopyObject().(spread)
	if err := r.Get(ctx, req.NamespacedName, o); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := o.DeepCopyObject().(spread)
	if o.GetDeletionTimestamp() != nil {
		gone, err := r.delete(ctx, o)
		if gone && err == nil {
			return ctrl.Result{}, patch.RemoveFinalizer(ctx, r.Client, o, r.finalizer)
		}
		return ctrl.Result{RequeueAfter: r.Poll}, errors.Join(err, patch.All(ctx, r.Client, before, o))
	}
	if err := patch.AddFinalizer(ctx, r.Client, o, r.finalizer); err != nil {
		return ctrl.Result{}, err
	}
	chosen, others, notAllowed, err := r.Clusters.Matching(ctx, r.selector(o))
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.record(ctx, o, chosen, slices.Concat(others, notAllowed)); err != nil { // what these have stays
		return ctrl.Result{}, err
	}
	before = o.DeepCopyObject().(spread)
	result := r.spread(ctx, o, chosen, others, notAllowed)
	status.Sum(o, r.reconciled, r.ready)
	return result, patch.All(ctx, r.Client, before, o)
}

// record which clusters are going to get something, before they do: neither a cluster that doesn't answer later is forgotten then, nor
// does one matter that has never got anything. Those that don't exist any more have nothing.
func (r *reconciler) record(ctx context.Context, o spread, chosen, others []dpucluster.Cluster) error {
	before := o.DeepCopyObject().(spread)
	s := o.GetSpread()
	names := map[string]bool{}
	for _, c := range others {
		names[c.Name.String()] = slices.Contains(s.Clusters, c.Name.String())
	}
	for _, c := range chosen {
		names[c.Name.String()] = c.Client != nil || slices.Contains(s.Clusters, c.Name.String())
	}
	s.Clusters = nil
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] {
			s.Clusters = append(s.Clusters, name)
		}
	}
	return patch.All(ctx, r.Client, before, o)
}

// has tells whether a cluster has got something of an object, or may have.
func has(o spread, c dpucluster.Cluster) bool {
	return slices.Contains(o.GetSpread().Clusters, c.Name.String())
}

// forget a cluster that has nothing any more.
func forget(o spread, c dpucluster.Cluster) {
	s := o.GetSpread()
	s.Clusters = slices.DeleteFunc(s.Clusters, func(name string) bool { return name == c.Name.String() })
}

// spread an object over the chosen clusters, and take it away from the others. What a cluster refuses, or can't answer, is its condition,
// and is tried again; the other clusters don't wait for that.
func (r *reconciler) spread(ctx context.Context, o spread, chosen, others, notAllowed []dpucluster.Cluster) (result ctrl.Result) {
	want, err := r.wanted(o)
	if err != nil {
		status.Set(o, r.reconciled, svcv1.ReasonFailure, err.Error())
		status.Set(o, r.ready, svcv1.ReasonPending, err.Error())
		return result
	}
	var unwritten, waiting []string
	for _, c := range chosen {
		now, problem := r.put(ctx, want, c)
		if problem == "" {
			if problem = r.problem(now); problem != "" {
				waiting = append(waiting, at(c, problem))
			}
			continue
		}
		unwritten = append(unwritten, at(c, problem))
		waiting = append(waiting, at(c, "it doesn't have it yet"))
	}
	for _, c := range others {
		if !has(o, c) {
			continue
		}
		if left := r.remove(ctx, o, c); left != "" {
			unwritten = append(unwritten, at(c, "the clusterSelector doesn't choose it any more: "+left))
			continue
		}
		forget(o, c)
	}
	if len(chosen) == 0 {
		none := "the clusterSelector chooses no DPU cluster"
		unwritten, waiting = append(unwritten, none), append(waiting, none)
		for _, c := range notAllowed {
			unwritten = append(unwritten, at(c, c.Err.Error()))
		}
	}
	if len(unwritten) > 0 || len(waiting) > 0 && r.remote == nil {
		result.RequeueAfter = r.Poll
	}
	status.Done(o, r.reconciled, svcv1.ReasonPending, unwritten)
	status.Done(o, r.ready, svcv1.ReasonPending, waiting)
	return result
}

func at(c dpucluster.Cluster, problem string) string {
	return "DPU cluster " + c.Name.String() + ": " + problem
}

// put what is wanted into a cluster, and return it as it is there, or why that isn't possible now.
func (r *reconciler) put(ctx context.Context, want client.Object, c dpucluster.Cluster) (client.Object, string) {
	if c.Client == nil {
		return nil, c.Err.Error()
	}
	now := likeThis(want)
	err := c.Client.Get(ctx, client.ObjectKeyFromObject(want), now)
	switch {
	case apierrors.IsNotFound(err):
		now = likeThis(want)
		now.SetNamespace(want.GetNamespace())
		now.SetName(want.GetName())
		fill(now, want)
		mark(now)
		if err = dpucluster.EnsureNamespace(ctx, c.Client, want.GetNamespace()); err == nil {
			err = c.Client.Create(ctx, now)
		}
	case err != nil:
	case now.GetAnnotations()[managedAnnotation] != managed:
		return nil, "it has one of this name that wasn't made of this object: delete it there"
	case now.GetDeletionTimestamp() != nil:
		return nil, "it is being deleted there"
	default:
		before := now.DeepCopyObject().(client.Object)
		fill(now, want)
		mark(now)
		err = patch.All(ctx, c.Client, before, now)
	}
	if err != nil {
		return nil, shown(err)
	}
	return now, ""
}

func mark(now client.Object) {
	annotations := now.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[managedAnnotation] = managed
	now.SetAnnotations(annotations)
}

// shown is an error as a part of a condition.
func shown(err error) string {
	switch {
	case meta.IsNoMatchError(err):
		return "it doesn't know the kind yet: deploy its controller"
	case apierrors.IsConflict(err):
		return "another client has changed it at the same time"
	case apierrors.ReasonForError(err) == metav1.StatusReasonUnknown:
		return "it doesn't answer" // the words of a network change with each call
	}
	return err.Error()
}

// remove what was made of an object from a cluster, and return what is left; "" is nothing.
func (r *reconciler) remove(ctx context.Context, o object, c dpucluster.Cluster) string {
	if c.Client == nil {
		return c.Err.Error()
	}
	want, err := r.wanted(o)
	if err != nil {
		return err.Error()
	}
	now := likeThis(want)
	err = c.Client.Get(ctx, client.ObjectKeyFromObject(want), now)
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return ""
	case err != nil:
		return shown(err)
	case now.GetAnnotations()[managedAnnotation] != managed:
		return ""
	case now.GetDeletionTimestamp() != nil:
		return "it is still there, with the finalizers " + strings.Join(now.GetFinalizers(), ", ") + said(now)
	}
	uid := now.GetUID()
	err = c.Client.Delete(ctx, now, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return shown(err)
	}
	return "it is being deleted"
}

// said is why a set is still there.
func said(now client.Object) string {
	if set, is := now.(object); is {
		if c := meta.FindStatusCondition(set.GetStatus().Conditions, svcv1.ReadyCondition); c != nil && c.Reason == svcv1.ReasonAwaitingDeletion {
			return ": " + c.Message
		}
	}
	return ""
}

// delete an object from all clusters, and report whether it is gone. No worker waits for that, and a cluster that is gone for good can be
// abandoned.
func (r *reconciler) delete(ctx context.Context, o spread) (bool, error) {
	if !controllerutil.ContainsFinalizer(o, r.finalizer) {
		return true, nil
	}
	if user := o.GetAnnotations()[svcv1.UsedByAnnotation]; slices.Contains(o.GetFinalizers(), svcv1.InUseFinalizer) {
		status.Set(o, svcv1.ReadyCondition, svcv1.ReasonAwaitingDeletion,
			"DPUService "+user+" has it: take it out of its spec.interfaces, or delete that")
		return false, nil
	}
	all, refused, err := r.Clusters.Seen(ctx)
	if err != nil {
		return false, err
	}
	var left []string
	for _, c := range append(all, dpucluster.NotAllowed(refused)...) {
		if !has(o, c) {
			continue
		}
		if problem := r.remove(ctx, o, c); problem != "" {
			left = append(left, at(c, problem))
			continue
		}
		forget(o, c)
	}
	if len(left) > 0 && o.GetAnnotations()[svcv1.AbandonAnnotation] == "true" {
		r.events.Eventf(o, nil, corev1.EventTypeWarning, "Abandoned", "Delete", "What was made of it is left: %.900s", status.List(left))
		ctrl.LoggerFrom(ctx).Info("What was made of an object is left where it is", "kind", r.name, "left", left)
		return true, nil
	}
	if len(left) > 0 {
		message := status.List(left) + ". The annotation " + svcv1.AbandonAnnotation + "=true leaves it there"
		status.Set(o, r.reconciled, svcv1.ReasonAwaitingDeletion, message)
		status.Set(o, svcv1.ReadyCondition, svcv1.ReasonAwaitingDeletion, message)
	}
	return len(left) == 0, nil
}
