// Package scheduler binds Clusters to clouds, by the constraints of the Cluster and the metrics of the clouds, or by a CloudBinding. It
// also says of each cloud whether its metrics have values.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/patch"
)

// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=clusters;cloudbindings;clouds;globalclouds,verbs=get;list;watch
// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=metrics;globalmetrics;metricsproviders;globalmetricsproviders,verbs=get;list;watch
// +kubebuilder:rbac:groups=krake.bedplate.dev,resources=clusters/status;cloudbindings/status;clouds/status;globalclouds/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Config of the controllers.
type Config struct {
	// Egress says which Prometheus servers may be asked.
	Egress egress.Policy
	// MadeOn is the cloud that something was made on for a Cluster, or nil: it stays there. With an Invalid error that is an earlier
	// Cluster's, and says nothing of this one, unless this one was made, too. Optional.
	MadeOn func(context.Context, *krakev1.Cluster) (*krakev1.CloudReference, error)
	// NoGlobal says why GlobalClouds aren't used; empty if they are.
	NoGlobal string
	// Seed of the choice among equal clouds.
	Seed uint64
	// Poll is how often values of metrics are looked at without an event.
	Poll time.Duration
	// Clock of the times in statuses.
	Clock   clock.Clock
	Options controller.Options
}

// Setup registers the controllers of the scheduler.
func Setup(mgr ctrl.Manager, config Config) error {
	metrics := NewMetrics(mgr.GetClient(), config.Egress, config.Clock)
	metrics.patience = patience
	scheduler := &reconciler{
		Client: mgr.GetClient(), events: mgr.GetEventRecorder("bedplate-krake"), metrics: metrics, Config: config,
	}
	err := errors.Join(
		scheduler.setup(mgr),
		(&bindings{mgr.GetClient()}).setup(mgr, config.Options),
		(&clouds{mgr.GetClient(), metrics, config.Poll, func() cloud { return &krakev1.Cloud{} }}).setup(mgr, config.Options),
	)
	if err != nil || config.NoGlobal != "" {
		return err
	}
	return (&clouds{mgr.GetClient(), metrics, config.Poll, func() cloud { return &krakev1.GlobalCloud{} }}).setup(mgr, config.Options)
}

// described: specs and labels count, statuses don't.
var described = builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}))

func (r *reconciler) setup(mgr ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(mgr).Named("krake-scheduler").For(&krakev1.Cluster{}).
		Watches(&krakev1.CloudBinding{}, handler.EnqueueRequestsFromMapFunc(clusterOf))
	for _, kind := range []client.Object{
		&krakev1.Cloud{}, &krakev1.GlobalCloud{}, &krakev1.Metric{}, &krakev1.GlobalMetric{},
		&krakev1.MetricsProvider{}, &krakev1.GlobalMetricsProvider{},
	} {
		b = b.Watches(kind, handler.EnqueueRequestsFromMapFunc(r.waiting), described)
	}
	if err := b.WithOptions(r.Options).Complete(patch.ExpectConflicts(r)); err != nil {
		return fmt.Errorf("set up the scheduler: %w", err)
	}
	return nil
}

// waiting are the Clusters that aren't bound yet: in the namespace of an object, or all where it has none.
func (r *reconciler) waiting(ctx context.Context, object client.Object) (requests []ctrl.Request) {
	var clusters krakev1.ClusterList
	if err := r.List(ctx, &clusters, client.InNamespace(object.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to enqueue the Clusters that aren't bound")
	}
	for i := range clusters.Items {
		if waits(&clusters.Items[i]) {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&clusters.Items[i])})
		}
	}
	return requests
}

// conditioned is an object with conditions.
type conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
}

// set a condition, and say whether that changed it.
func set(object conditioned, kind string, status metav1.ConditionStatus, reason, message string) (changed bool) {
	conditions := object.GetConditions()
	changed = meta.SetStatusCondition(&conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: object.GetGeneration(),
	})
	object.SetConditions(conditions)
	return changed
}
