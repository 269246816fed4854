package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/hostnetwork"
	"github.com/bedplate/bedplate/internal/dpf/preflight"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/patch"
)

// AddToScheme makes every kind known that the operator reads or writes.
func AddToScheme(scheme *runtime.Scheme) error {
	all := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, configv1.Install, operatorv1.AddToScheme, svcv1.AddToScheme)
	return all.AddToScheme(scheme)
}

// Namespaces of OpenShift that the operator changes something in.
const ovnNamespace, networkOperatorNamespace = "openshift-ovn-kubernetes", "openshift-network-operator"

// Cached is what is kept in memory: of the host cluster's workloads only what is looked at.
func Cached() map[client.Object]cache.ByObject {
	in := func(names ...string) (of cache.ByObject) {
		of.Namespaces = map[string]cache.Config{}
		for _, name := range names {
			of.Namespaces[name] = cache.Config{}
		}
		return of
	}
	return map[client.Object]cache.ByObject{
		&corev1.Pod{}:        in(operatorv1.Namespace, ovnNamespace),
		&corev1.ConfigMap{}:  in(ovnNamespace),
		&appsv1.DaemonSet{}:  in(operatorv1.Namespace, ovnNamespace),
		&appsv1.Deployment{}: in(operatorv1.Namespace, networkOperatorNamespace),
		&svcv1.DPUService{}:  in(operatorv1.Namespace),
		&corev1.Node{}:       {Transform: withoutImages},
		&admissionregistrationv1.ValidatingWebhookConfiguration{}: {
			Field: fields.OneTermEqualSelector("metadata.name", "network-node-identity.openshift.io"),
		},
	}
}

// withoutImages of a node: half of what it takes in memory.
func withoutImages(o any) (any, error) {
	if node, is := o.(*corev1.Node); is {
		node.Status.Images = nil
		node.ManagedFields = nil
	}
	return o, nil
}

// Config of the operator.
type Config struct {
	Release components.Release
	// Egress says where the kubeconfigs of DPU clusters may lead to.
	Egress egress.Policy
	Poll   time.Duration
}

// Setup registers the controllers.
func Setup(mgr ctrl.Manager, config Config, options controller.Options) error {
	clusters, err := dpucluster.Setup(mgr, dpucluster.Config{
		Scheme: mgr.GetScheme(), Egress: config.Egress,
		Cached: map[client.Object]cache.ByObject{&corev1.Pod{}: {
			Namespaces: map[string]cache.Config{operatorv1.Namespace: {}}, Label: dpuProvisioner.AsSelector(),
		}},
	}, options)
	if err != nil {
		return err
	}
	live, err := client.New(mgr.GetConfig(), client.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
	})
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	r := &Reconciler{
		Client: mgr.GetClient(), Live: live, Clusters: clusters.Seen, Release: config.Release, Poll: config.Poll, Clock: clock.RealClock{},
		Events: mgr.GetEventRecorder("bedplate-dpf-manager"),
		Check: func(ctx context.Context, c *operatorv1.DPFOperatorConfig, dpus []preflight.DPUCluster) preflight.Report {
			return preflight.Run(ctx, live, c, dpus)
		},
		Network: hostnetwork.Move{
			Client: mgr.GetClient(), Uncached: live, Now: time.Now, DPUSide: dpuSide(clusters.All),
			Provisioner: hostnetwork.Pods{Namespace: operatorv1.Namespace, Labels: map[string]string{
				"app.kubernetes.io/name": components.HostNetworkProvisioner}},
			CleanUp: hostnetwork.Pods{Namespace: operatorv1.Namespace, Labels: map[string]string{
				"app.kubernetes.io/name": components.HostNetworkCleanUp}},
		},
	}
	return errors.Join(r.setup(mgr, clusters, options), Expose(mgr))
}

var theOne = []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: operatorv1.Namespace, Name: operatorv1.Name}}}

func (r *Reconciler) setup(mgr ctrl.Manager, clusters *dpucluster.Clusters, options controller.Options) error {
	always := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []ctrl.Request { return theOne })
	// Others of their kinds, such as ovnkube-node, are the network's.
	component := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []ctrl.Request {
		if o.GetNamespace() == operatorv1.Namespace {
			r.Changed.Store(true)
		}
		return theOne
	})
	options.MaxConcurrentReconciles = 1
	err := ctrl.NewControllerManagedBy(mgr).Named("dpf-operator-config").For(&operatorv1.DPFOperatorConfig{}).
		Watches(&appsv1.Deployment{}, component).
		Watches(&appsv1.DaemonSet{}, component).
		Watches(&svcv1.DPUService{}, component).
		Watches(&corev1.Node{}, always, builder.WithPredicates(nodeChanged)).
		Watches(&corev1.Pod{}, always, builder.WithPredicates(readinessChanged)).
		WatchesRawSource(clusters.Source(func(context.Context, dpucluster.Event) []ctrl.Request { return theOne })).
		WithOptions(options).Complete(patch.ExpectConflicts(r))
	if err != nil {
		return fmt.Errorf("set up the controller of the DPFOperatorConfig: %w", err)
	}
	return nil
}

// nodeChanged in what the move is about: heartbeats aren't.
var nodeChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*corev1.Node), e.ObjectNew.(*corev1.Node)
	return !maps.Equal(before.Labels, after.Labels) || !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
		before.Annotations[operatorv1.ChassisIDAnnotation] != after.Annotations[operatorv1.ChassisIDAnnotation] ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
}}

var readinessChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
	return podReady(before) != podReady(after) || before.Spec.NodeName != after.Spec.NodeName ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
}}

func podReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && pod.DeletionTimestamp.IsZero()
		}
	}
	return false
}

// dpuProvisioner selects the Pods of the DPUs' side of the provisioners.
var dpuProvisioner = labels.Set{svcv1.ServiceIDLabel: string(operatorv1.ComponentDPUCNIProvisioner)}

// dpuSide looks for the Pod on a host's DPU. While a DPU cluster doesn't answer, a Pod that no other one has isn't known.
func dpuSide(
	clusters func(context.Context) ([]dpucluster.Cluster, error),
) func(context.Context, operatorv1.Host) (hostnetwork.Readiness, error) {
	return func(ctx context.Context, host operatorv1.Host) (hostnetwork.Readiness, error) {
		all, unknown := clusters(ctx)
		for _, cluster := range all {
			if cluster.Client == nil {
				unknown = errors.Join(unknown, fmt.Errorf("DPU cluster %s: %w", cluster.Name, cluster.Err))
				continue
			}
			pods := &corev1.PodList{}
			err := cluster.Client.List(ctx, pods, client.InNamespace(operatorv1.Namespace), client.MatchingLabels(dpuProvisioner))
			if err != nil {
				unknown = errors.Join(unknown, fmt.Errorf("DPU cluster %s: list the Pods: %w", cluster.Name, err))
				continue
			}
			for i := range pods.Items {
				if pod := &pods.Items[i]; pod.Spec.NodeName == string(host.DPUClusterNodeName) && podReady(pod) {
					return hostnetwork.Readiness{Ready: true}, nil
				}
			}
		}
		return hostnetwork.Readiness{}, unknown
	}
}
