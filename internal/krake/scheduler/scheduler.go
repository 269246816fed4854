package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// ReasonInvalid: a constraint can't be read.
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

// Reconcile binds a Cluster, or says why it can't be bound, and looks again.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cluster := &krakev1.Cluster{}
	if err := r.Get(ctx, req.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !waits(cluster) {
		return ctrl.Result{}, nil
	}
	before := cluster.DeepCopy()
	o, err := r.decide(ctx, cluster)
	if err != nil {
		return ctrl.Result{}, err
	}
	if cluster.Status.State == "" {
		cluster.Status.State = krakev1.StatePending
	}
	status, kind := metav1.ConditionFalse, corev1.EventTypeWarning
	cluster.Status.Reason = &krakev1.Reason{Code: o.code, Message: o.message}
	if o.cloud != nil {
		status, kind = metav1.ConditionTrue, corev1.EventTypeNormal
		now := metav1.NewTime(r.Clock.Now())
		cluster.Status.ScheduledTo, cluster.Status.ScheduledAt, cluster.Status.Reason = o.cloud, &now, nil
	}
	changed := set(cluster, krakev1.ScheduledCondition, status, o.reason, o.message)
	if err := patch.All(ctx, r.Client, before, cluster); err != nil {
		return ctrl.Result{}, err
	}
	if changed {
		r.events.Eventf(cluster, nil, kind, o.reason, "Schedule", "%s", o.note)
	}
	if o.cloud != nil {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: r.Poll}, nil // no event says when the value of a metric changes
}

// outcome of an attempt to bind a Cluster.
type outcome struct {
	cloud  *krakev1.CloudReference
	reason string
	code   krakev1.ReasonCode // if there is no cloud
	// message and note say the same, in the condition and in the event.
	message, note string
}

func (r *reconciler) decide(ctx context.Context, cluster *krakev1.Cluster) (outcome, error) {
	switch binding, err := oldest(ctx, r.Client, cluster.Namespace, cluster.Name); {
	case err != nil:
		return outcome{}, err
	case binding != nil:
		return r.follow(ctx, binding)
	}
	clouds, err := r.clouds(ctx, cluster.Namespace)
	if err != nil {
		return outcome{}, err
	}
	values := map[krakev1.CloudReference]Values{}
	for _, cloud := range clouds {
		if values[cloud.Reference()], err = r.metrics.Of(ctx, cloud); err != nil {
			return outcome{}, err
		}
	}
	choice, err := Choose(cluster, clouds, values, r.Seed)
	if err != nil {
		text := err.Error() + ". Correct it"
		return outcome{reason: ReasonInvalid, code: krakev1.ReasonInvalidResource, message: text, note: text}, nil //nolint:nilerr // it is shown
	}
	o := outcome{cloud: choice.Cloud, reason: ReasonBound, message: choice.String(maxMessage), note: choice.String(maxNote)}
	if choice.Cloud == nil {
		o.reason, o.code = ReasonNoSuitableCloud, krakev1.ReasonNoSuitableResource
		say := "no cloud matches: change the constraints, or a cloud. "
		if len(clouds) == 0 {
			say = "there is no cloud: write a Cloud in this namespace, or have a GlobalCloud written"
		}
		o.message, o.note = say+choice.String(maxMessage-len(say)), say+choice.String(maxNote-len(say))
	}
	return o, nil
}

// follow a binding by hand, whatever the constraints are.
func (r *reconciler) follow(ctx context.Context, binding *krakev1.CloudBinding) (outcome, error) {
	wanted := binding.Spec.Cloud
	var cloud client.Object = &krakev1.Cloud{}
	key := client.ObjectKey{Namespace: binding.Namespace, Name: wanted.Name}
	if wanted.Kind == krakev1.KindGlobalCloud {
		cloud, key.Namespace = &krakev1.GlobalCloud{}, ""
	}
	err := r.Get(ctx, key, cloud)
	if err != nil && !apierrors.IsNotFound(err) {
		return outcome{}, fmt.Errorf("get %s: %w", wanted, err)
	}
	text := fmt.Sprintf("%s: named by CloudBinding %s", wanted, binding.Name)
	if err == nil && cloud.GetDeletionTimestamp().IsZero() {
		return outcome{cloud: &wanted, reason: ReasonBound, message: text, note: text}, nil
	}
	text += ", doesn't exist or is being deleted: write it, or delete the CloudBinding"
	return outcome{reason: ReasonNotFound, code: krakev1.ReasonNotFound, message: text, note: text}, nil
}

// clouds that Clusters of a namespace may be made on.
func (r *reconciler) clouds(ctx context.Context, namespace string) (clouds []krakev1.AnyCloud, _ error) {
	var own krakev1.CloudList
	var global krakev1.GlobalCloudList
	if err := errors.Join(r.List(ctx, &own, client.InNamespace(namespace)), r.List(ctx, &global)); err != nil {
		return nil, fmt.Errorf("list the clouds: %w", err)
	}
	for i := range own.Items {
		clouds = append(clouds, &own.Items[i])
	}
	for i := range global.Items {
		clouds = append(clouds, &global.Items[i])
	}
	return clouds, nil
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
