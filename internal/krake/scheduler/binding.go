package scheduler

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/patch"
)

// Reasons of the condition Bound, beside those of Scheduled.
const (
	// ReasonPending: the Cluster isn't bound yet.
	ReasonPending = "Pending"
	// ReasonNotBindable: the Cluster isn't one that can be bound.
	ReasonNotBindable = "NotBindable"
	// ReasonAlreadyBound: the Cluster is bound to another cloud.
	ReasonAlreadyBound = "AlreadyBound"
)

// bindings says what has become of CloudBindings. It is the scheduler that follows them.
type bindings struct{ client.Client }

func (b *bindings) setup(mgr ctrl.Manager, options controller.Options) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("krake-cloudbinding").For(&krakev1.CloudBinding{}).
		Watches(&krakev1.Cluster{}, handler.EnqueueRequestsFromMapFunc(b.concerned)).
		WithOptions(options).Complete(patch.ExpectConflicts(b))
	if err != nil {
		return fmt.Errorf("set up the controller of CloudBindings: %w", err)
	}
	return nil
}

// concerned are the bindings of a Cluster.
func (b *bindings) concerned(ctx context.Context, cluster client.Object) (requests []ctrl.Request) {
	all, err := bindingsOf(ctx, b, cluster.GetNamespace(), cluster.GetName())
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue the CloudBindings of a Cluster")
	}
	for _, binding := range all {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(binding)})
	}
	return requests
}

// clusterOf a CloudBinding.
func clusterOf(_ context.Context, binding client.Object) []ctrl.Request {
	name := binding.(*krakev1.CloudBinding).Spec.Cluster.Name
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: binding.GetNamespace(), Name: name}}}
}

// Reconcile writes the condition of a CloudBinding.
func (b *bindings) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	binding := &krakev1.CloudBinding{}
	if err := b.Get(ctx, req.NamespacedName, binding); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !binding.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	before := binding.DeepCopy()
	cluster := &krakev1.Cluster{}
	err := b.Get(ctx, client.ObjectKey{Namespace: binding.Namespace, Name: binding.Spec.Cluster.Name}, cluster)
	if err != nil && !apierrors.IsNotFound(err) {
		return ctrl.Result{}, fmt.Errorf("get the Cluster: %w", err)
	}
	if err != nil {
		cluster = nil
	}
	status, reason, message := judgeBinding(binding, cluster)
	set(binding, krakev1.BoundCondition, status, reason, message)
	return ctrl.Result{}, patch.All(ctx, b.Client, before, binding)
}

// judgeBinding says whether a Cluster, which is nil if there is none, is bound as it should be.
func judgeBinding(binding *krakev1.CloudBinding, cluster *krakev1.Cluster) (status metav1.ConditionStatus, reason, message string) {
	name := "Cluster " + binding.Spec.Cluster.Name
	switch {
	case cluster == nil:
		return metav1.ConditionFalse, ReasonNotFound, name + " doesn't exist: it is bound when it is written"
	case cluster.Status.ScheduledTo != nil && *cluster.Status.ScheduledTo == binding.Spec.Cloud:
		return metav1.ConditionTrue, ReasonBound, ""
	case cluster.Status.ScheduledTo != nil:
		return metav1.ConditionFalse, ReasonAlreadyBound, fmt.Sprintf(
			"%s is bound to %s, where it stays: delete this CloudBinding, or write another Cluster", name, cluster.Status.ScheduledTo)
	case cluster.Spec.Kubeconfig != nil:
		return metav1.ConditionFalse, ReasonNotBindable, name + " has a kubeconfig, so that it is only observed: delete this CloudBinding"
	case cluster.Spec.Paused:
		return metav1.ConditionFalse, ReasonNotBindable, name + " is paused: set its spec.paused to false"
	case !waits(cluster):
		return metav1.ConditionFalse, ReasonNotBindable, name + " has failed or is being deleted: see its status"
	}
	scheduled := meta.FindStatusCondition(cluster.Status.Conditions, krakev1.ScheduledCondition)
	if scheduled == nil || scheduled.Reason != ReasonNotFound {
		return metav1.ConditionFalse, ReasonPending, name + " isn't bound yet"
	}
	return metav1.ConditionFalse, scheduled.Reason, scheduled.Message
}
