package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/patch"
)

// Reasons of the condition MetricsAvailable.
const (
	// ReasonAvailable: all metrics have valid values.
	ReasonAvailable = "Available"
	// ReasonFailingMetrics: a metric has none.
	ReasonFailingMetrics = "FailingMetrics"
)

// cloud is a Cloud or a GlobalCloud.
type cloud interface {
	client.Object
	krakev1.AnyCloud
}

// clouds writes the statuses of the clouds of one kind.
type clouds struct {
	client.Client
	metrics *Metrics
	poll    time.Duration
	empty   func() cloud
}

func (c *clouds) setup(mgr ctrl.Manager, options controller.Options) error {
	kind := c.empty().Reference().Kind
	b := ctrl.NewControllerManagedBy(mgr).Named("krake-"+strings.ToLower(kind)).For(c.empty(), described).
		Watches(&krakev1.Cluster{}, handler.EnqueueRequestsFromMapFunc(c.bound), builder.WithPredicates(bindingChanged))
	if err := b.WithOptions(options).Complete(patch.ExpectConflicts(c)); err != nil {
		return fmt.Errorf("set up the controller of %ss: %w", kind, err)
	}
	return nil
}

// bindingChanged: the number of a cloud's Clusters may have.
var bindingChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.(*krakev1.Cluster).Status.ScheduledTo == nil && e.ObjectNew.(*krakev1.Cluster).Status.ScheduledTo != nil
	},
}

// bound is the cloud that a Cluster is bound to, if it is one of this kind.
func (c *clouds) bound(_ context.Context, object client.Object) []ctrl.Request {
	to := object.(*krakev1.Cluster).Status.ScheduledTo
	if to == nil || to.Kind != c.empty().Reference().Kind {
		return nil
	}
	key := client.ObjectKey{Namespace: object.GetNamespace(), Name: to.Name}
	if to.Kind == krakev1.KindGlobalCloud {
		key.Namespace = ""
	}
	return []ctrl.Request{{NamespacedName: key}}
}

// Reconcile writes the status of a cloud, and looks again: no event says when the value of a metric changes.
func (c *clouds) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cloud := c.empty()
	if err := c.Get(ctx, req.NamespacedName, cloud); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := cloud.DeepCopyObject().(client.Object)
	values, err := c.metrics.Of(ctx, cloud)
	asking := errors.Is(err, errAsking)
	if err != nil && !asking {
		return ctrl.Result{}, err
	}
	var clusters krakev1.ClusterList
	if err := c.List(ctx, &clusters, client.InNamespace(cloud.GetNamespace())); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the Clusters: %w", err)
	}
	status := cloud.Known()
	status.Clusters = 0
	for i := range clusters.Items {
		if to := clusters.Items[i].Status.ScheduledTo; to != nil && *to == cloud.Reference() {
			status.Clusters++
		}
	}
	if asking { // its Clusters are counted all the same: nothing is made for one that isn't
		return ctrl.Result{RequeueAfter: wait.Jitter(askAgain, 0.1)}, patch.All(ctx, c.Client, before, cloud)
	}
	show(cloud, values)
	return ctrl.Result{RequeueAfter: c.poll}, patch.All(ctx, c.Client, before, cloud)
}

// show whether the metrics of a cloud have values.
func show(cloud cloud, values Values) {
	status := cloud.Known()
	status.State, status.MetricsReasons = krakev1.CloudOnline, nil
	var failing []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if reason := values[name].Reason; reason != nil {
			if status.MetricsReasons == nil {
				status.State, status.MetricsReasons = krakev1.CloudFailingMetrics, map[string]krakev1.Reason{}
			}
			status.MetricsReasons[name] = *reason
			failing = append(failing, "metric "+name+": "+reason.Message)
		}
	}
	if len(failing) > 0 {
		set(cloud, krakev1.MetricsAvailableCondition, metav1.ConditionFalse, ReasonFailingMetrics, strings.Join(failing, "; "))
		return
	}
	set(cloud, krakev1.MetricsAvailableCondition, metav1.ConditionTrue, ReasonAvailable, "")
}
