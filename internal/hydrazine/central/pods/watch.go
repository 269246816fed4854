package pods

import (
	"context"
	"fmt"
	"net/netip"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bedplate/bedplate/internal/hydrazine/central"
)

// +kubebuilder:rbac:groups=apps,resources=deployments,namespace=bedplate-hydrazine-centrals,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,namespace=bedplate-hydrazine-centrals,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,namespace=bedplate-hydrazine-centrals,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,namespace=bedplate-hydrazine-centrals,verbs=get;list;watch;create;update;delete
// +kubebuilder:rbac:groups="",resources=pods,namespace=bedplate-hydrazine-centrals,verbs=list;watch

// watch the objects of all groups, and report each change, by any client. This is a cache of its own: the manager's sees
// other namespaces.
func (r *Runtime) watch(mgr ctrl.Manager) error {
	own, err := cluster.New(mgr.GetConfig(), func(o *cluster.Options) {
		o.Scheme = mgr.GetScheme()
		o.Cache.DefaultNamespaces = map[string]cache.Config{r.config.Namespace: {}}
		o.Cache.DefaultLabelSelector = labels.SelectorFromSet(labels.Set{managedByLabel: managerName, nameLabel: centralName})
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
	})
	if err != nil {
		return fmt.Errorf("make the cache of centrals: %w", err)
	}
	r.client = own.GetClient()
	for _, kind := range []client.Object{
		&corev1.Pod{}, &appsv1.Deployment{}, &corev1.Service{}, &networkingv1.NetworkPolicy{}, &corev1.Secret{},
	} {
		informer, err := own.GetCache().GetInformer(context.Background(), kind, cache.BlockUntilSynced(false))
		if err == nil {
			_, err = informer.AddEventHandler(r.events())
		}
		if err != nil {
			return fmt.Errorf("watch the centrals: %w", err)
		}
	}
	if err := mgr.Add(own); err != nil {
		return fmt.Errorf("start the cache of centrals: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(r.tell))
}

func (r *Runtime) events() toolscache.ResourceEventHandler {
	add := func(object any) {
		if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if of, ok := object.(client.Object); ok && of.GetLabels()[groupLabel] != "" {
			r.news.Add(of.GetLabels()[groupLabel])
		}
	}
	// If the label of an object is removed or replaced, the group that it belonged to is notified.
	return toolscache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(was, is any) { add(was); add(is) }, DeleteFunc: add}
}

// tell sends the names of changed groups until ctx ends.
func (r *Runtime) tell(ctx context.Context) error {
	defer context.AfterFunc(ctx, r.news.ShutDown)()
	for {
		group, end := r.news.Get()
		if end {
			return nil
		}
		r.news.Done(group)
		select {
		case r.died <- group:
		case <-ctx.Done():
			return nil
		}
	}
}

// running returns the address of a group's Pod that is ready.
func (r *Runtime) running(ctx context.Context, group string) (netip.Addr, error) {
	list := &corev1.PodList{}
	if err := r.client.List(ctx, list, client.InNamespace(r.config.Namespace), client.MatchingLabels(labelsOf(group))); err != nil {
		return netip.Addr{}, fmt.Errorf("look for the central's Pod: %w", err)
	}
	var pod *corev1.Pod
	for i := range list.Items { // of several the oldest: surplus new ones are deleted again
		p := &list.Items[i]
		ended := p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded // such as one that was evicted
		if p.DeletionTimestamp.IsZero() && !ended && (pod == nil || p.CreationTimestamp.Before(&pod.CreationTimestamp)) {
			pod = p
		}
	}
	if pod == nil {
		return netip.Addr{}, fmt.Errorf("it has no Pod yet: %w", central.ErrOnItsWay)
	}
	central.Restarted(r.restarted(group, pod))
	ip, err := netip.ParseAddr(pod.Status.PodIP)
	if err != nil || !ready(pod) {
		return netip.Addr{}, fmt.Errorf("its Pod %s isn't ready%s: %w", pod.Name, why(pod), central.ErrOnItsWay)
	}
	return ip, nil
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// why a Pod isn't ready, as Kubernetes says it.
func why(pod *corev1.Pod) string {
	for _, c := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if waiting := c.State.Waiting; waiting != nil && waiting.Reason != "PodInitializing" {
			return fmt.Sprintf(" (%s: %s)", c.Name, waiting.Reason)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf(" (%s: %s)", c.Reason, c.Message)
		}
	}
	return ""
}
