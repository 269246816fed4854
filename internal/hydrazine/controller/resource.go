package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/patch"
)

// resourceReconciler attaches hosts to the networks of their groups, and isolates them.
//
// A host is on a network while the agent of its DPU holds a lease for it. The latest end of the lease is written into the
// status before the agent is called. So it is always known until when a host may be attached that can't be isolated now.
type resourceReconciler struct {
	client.Client
	networks *networks
	control  *controlPlane
	agents   *agents.Pool
	events   events.EventRecorder
	pool     *pool
	// lease is how long a host stays attached without a renewal.
	lease  time.Duration
	leases *hostLeases
	turns  *turns
	// poll is how soon something without events is retried.
	poll time.Duration
	now  func() time.Time
}

// +kubebuilder:rbac:groups=resource.bedplate.dev,resources=managedresources,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=resource.bedplate.dev,resources=managedresources/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile a ManagedResource.
func (r *resourceReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	resource := &resourcev1.ManagedResource{}
	if err := r.Get(ctx, request.NamespacedName, resource); err != nil {
		if apierrors.IsNotFound(err) {
			r.leases.forget(request.NamespacedName)
			r.turns.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.leases.left(resource) // a lease counts from when it is first seen
	if wait := r.turns.wait(request.NamespacedName); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	deleted := !resource.DeletionTimestamp.IsZero()
	if deleted && !controllerutil.ContainsFinalizer(resource, resourcev1.ManagedResourceFinalizer) {
		return ctrl.Result{}, nil
	}
	if !deleted {
		if err := patch.AddFinalizer(ctx, r.Client, resource, resourcev1.ManagedResourceFinalizer); err != nil {
			return ctrl.Result{}, err
		}
	}
	before := resource.DeepCopy()
	result, failed := r.reconcile(ctx, resource)
	if deleted && failed == nil && isolated(resource) {
		return ctrl.Result{}, patch.RemoveFinalizer(ctx, r.Client, resource, resourcev1.ManagedResourceFinalizer)
	}
	return result, writeStatus(ctx, r.Client, r.events, before, resource, failed)
}

func (r *resourceReconciler) reconcile(ctx context.Context, resource *resourcev1.ManagedResource) (ctrl.Result, error) {
	forgetDPU(resource)
	group, err := r.group(ctx, resource)
	if err != nil {
		return ctrl.Result{}, err
	}
	inGroup, err := members(ctx, r, types.NamespacedName{Namespace: resource.Namespace, Name: resource.Spec.ResourceGroup})
	if err != nil {
		return ctrl.Result{}, err
	}
	accepted, problem, err := accept(ctx, r, resource, group, inGroup)
	if err != nil {
		return ctrl.Result{}, err
	}
	if problem.Reason == "" {
		met(resource, resourcev1.AcceptedCondition)
	} else {
		unmet(resource, resourcev1.AcceptedCondition, problem.Reason, problem.Message)
	}
	var result ctrl.Result
	switch {
	case group != nil && group.Spec.NetworkImplementationType == resourcev1.FabricNetwork:
		result = r.record(ctx, resource, accepted)
	case !accepted:
		if problem.Reason == "" { // the DPU exists without its host too
			if err := r.remember(ctx, resource); err != nil {
				return ctrl.Result{}, err
			}
		}
		result = r.isolate(ctx, resource)
	default:
		return r.attach(ctx, resource, group, inGroup)
	}
	if problem.Reason != "" && result.RequeueAfter == 0 {
		result.RequeueAfter = r.poll // the conflicting host may be deleted before the conflict is recorded
	}
	return result, nil
}

// group that a resource names, or nil if there is none.
func (r *resourceReconciler) group(ctx context.Context, resource *resourcev1.ManagedResource) (*resourcev1.ResourceGroup, error) {
	group := &resourcev1.ResourceGroup{}
	err := r.Get(ctx, types.NamespacedName{Namespace: resource.Namespace, Name: resource.Spec.ResourceGroup}, group)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ResourceGroup %s: %w", resource.Spec.ResourceGroup, err)
	}
	return group, nil
}

// record a host whose network the fabric itself carries. One that comes from another network leaves that first.
func (r *resourceReconciler) record(ctx context.Context, resource *resourcev1.ManagedResource, accepted bool) ctrl.Result {
	if attachedByUs(resource) {
		result := r.isolate(ctx, resource)
		if attachedByUs(resource) {
			if accepted {
				moving(resource, "ResourceGroup "+resource.Spec.ResourceGroup)
				sumUp(resource, resourcev1.AcceptedCondition, resourcev1.AttachedCondition)
			}
			return result
		}
	}
	drop(resource, resourcev1.AgentReadyCondition, resourcev1.AttachedCondition, resourcev1.PortUpCondition,
		resourcev1.DHCPReadyCondition, resourcev1.PublicIPReadyCondition)
	resource.Status.HostAccessIPs, resource.Status.SecondHostAccessIPs = nil, nil
	if accepted {
		resource.Status.HostAccessIPs, resource.Status.SecondHostAccessIPs = access(resource), secondAccess(resource)
	}
	sumUp(resource, resourcev1.AcceptedCondition)
	if isReady(resource) {
		set(resource, resourcev1.ReadyCondition, metav1.ConditionTrue, reasonCarriedByFabric, carriedByFabric)
	}
	return ctrl.Result{}
}

// access is the addresses that a host is reached by.
func access(resource *resourcev1.ManagedResource) *resourcev1.IPAssociation {
	ips := &resourcev1.IPAssociation{HostIP: resource.Spec.HostIP}
	if resource.Spec.HostAccess != resourcev1.NetworkAccess {
		ips.FabricIP = resource.Spec.DPUIPs[1]
	}
	return ips
}

// secondAccess is the same for its second address.
func secondAccess(resource *resourcev1.ManagedResource) *resourcev1.IPAssociation {
	if resource.Spec.SecondHostIP == "" {
		return nil
	}
	ips := &resourcev1.IPAssociation{HostIP: resource.Spec.SecondHostIP}
	if resource.Spec.HostAccess != resourcev1.NetworkAccess && len(resource.Spec.DPUIPs) > 2 {
		ips.FabricIP = resource.Spec.DPUIPs[2]
	}
	return ips
}

// attachedByUs reports whether a DPU may have the host on a network.
func attachedByUs(resource *resourcev1.ManagedResource) bool {
	return resource.Status.LeaseExpires != nil
}

// isolated reports whether no DPU has the host on a network.
func isolated(resource *resourcev1.ManagedResource) bool { return !attachedByUs(resource) }

// report of the agent at an address, or why there is no usable one.
func (r *resourceReconciler) report(address resourcev1.IPAddress) (agents.Report, string, error) {
	report, err := r.agents.Report(string(address))
	switch {
	case errors.Is(err, agents.ErrInvalidReport):
		return report, reasonInvalidReport, fmt.Errorf("DPU %s: %w: look at its version and its log", address, err)
	case errors.Is(err, agents.ErrNewer):
		return report, reasonNewer, fmt.Errorf("DPU %s: %w: upgrade hydrazine-manager before leases end", address, err)
	case err != nil:
		return report, reasonUnreachable, fmt.Errorf("DPU %s: %w: check that the agent runs, and the network between this manager and the DPU", address, err)
	}
	return report, "", nil
}
