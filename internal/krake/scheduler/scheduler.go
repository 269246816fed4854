package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/patch"
)

// Reasons of the condition Scheduled.
const (
	// ReasonBound: the Cluster is bound to a cloud.
	ReasonBound = "Bound"
	// ReasonNoSuitableCloud: no cloud matches.
	ReasonNoSuitableCloud = "NoSuitableCloud"
	// ReasonNotFound: a CloudBinding names a cloud that doesn't exist.
	ReasonNotFound = "NotFound"
	// ReasonInvalid: a constraint can't be read, or what an earlier Cluster of the name has left is in the way.
	ReasonInvalid = "Invalid"
)

// The most bytes of a condition's message, and of an event's, that the API server takes.
const maxMessage, maxNote = 32_000, 1024

// reconciler binds Clusters. It alone writes status.scheduledTo.
type reconciler struct {
	client.Client
	events  events.EventRecorder
	metrics *Metrics
	Config
}

// waits says whether a Cluster is to be bound. One that is bound stays where it is.
func waits(c *krakev1.Cluster) bool {
	return c.DeletionTimestamp.IsZero() && c.Status.State != krakev1.StateFailed && c.Status.ScheduledTo == nil &&
		c.Spec.Kubeconfig == nil && !c.Spec.Paused
}

// lost says of a Cluster with a kubeconfig that this is the one that was made with it, and that its status is lost: it isn't registered.
func (r *reconciler) lost(ctx context.Context, decider *Decider, c *krakev1.Cluster) (bool, error) {
	if c.Spec.Kubeconfig == nil || c.Spec.Paused || !c.DeletionTimestamp.IsZero() {
		return false, nil
	}
	return decider.Lost(ctx, c)
}

// Reconcile binds a Cluster, or says why it can't be bound, and looks again.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cluster := &krakev1.Cluster{}
	if err := r.Get(ctx, req.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	decider := &Decider{Reader: r.Client, Metrics: r.metrics, MadeOn: r.MadeOn, NoGlobal: r.NoGlobal, Seed: r.Seed}
	if lost, err := r.lost(ctx, decider, cluster); err != nil || !lost && !waits(cluster) {
		return ctrl.Result{}, err
	}
	before := cluster.DeepCopy()
	o, err := decider.Decide(ctx, cluster)
	if errors.Is(err, errAsking) {
		return ctrl.Result{RequeueAfter: wait.Jitter(askAgain, 0.1)}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if cluster.Status.State == "" {
		cluster.Status.State = krakev1.StatePending
	}
	status, kind := metav1.ConditionFalse, corev1.EventTypeWarning
	cluster.Status.Reason = &krakev1.Reason{Code: o.code, Message: o.Message}
	if o.Cloud != nil {
		status, kind = metav1.ConditionTrue, corev1.EventTypeNormal
		now := metav1.NewTime(r.Clock.Now())
		cluster.Status.ScheduledTo, cluster.Status.ScheduledAt, cluster.Status.Reason = o.Cloud, &now, nil
	}
	changed := set(cluster, krakev1.ScheduledCondition, status, o.Reason, o.Message)
	if err := patch.All(ctx, r.Client, before, cluster); err != nil {
		return ctrl.Result{}, err
	}
	if changed {
		r.events.Eventf(cluster, nil, kind, o.Reason, "Schedule", "%s", o.note)
	}
	if o.Cloud != nil {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: r.Poll}, nil // no event says when the value of a metric changes
}

// oldest of the CloudBindings of a Cluster, or nil: the others have no effect.
func oldest(ctx context.Context, c client.Reader, namespace, cluster string) (*krakev1.CloudBinding, error) {
	all, err := bindingsOf(ctx, c, namespace, cluster)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return slices.MinFunc(all, func(a, b *krakev1.CloudBinding) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	}), nil
}

// bindingsOf a Cluster that aren't being deleted.
func bindingsOf(ctx context.Context, c client.Reader, namespace, cluster string) (bindings []*krakev1.CloudBinding, _ error) {
	var all krakev1.CloudBindingList
	if err := c.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the CloudBindings: %w", err)
	}
	for i := range all.Items {
		if b := &all.Items[i]; b.Spec.Cluster.Name == cluster && b.DeletionTimestamp.IsZero() {
			bindings = append(bindings, b)
		}
	}
	return bindings, nil
}
