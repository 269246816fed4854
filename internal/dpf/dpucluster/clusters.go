// Package dpucluster knows the DPU clusters, by the Secrets in which Kamaji keeps their kubeconfigs, and has a client and a cache of each.
// A cluster that doesn't answer holds up no other: it has no client until it answers again.
package dpucluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bedplate/bedplate/internal/egress"
)

// What Kamaji writes.
const (
	// KubeconfigKey of a kubeconfig in its Secret.
	KubeconfigKey = "admin.conf"
	// NameLabel of the Secret is the name of the TenantControlPlane, which is in the same namespace.
	NameLabel = "kamaji.clastix.io/name"

	componentLabel, component = "kamaji.clastix.io/component", "admin-kubeconfig"
	projectLabel, project     = "kamaji.clastix.io/project", "kamaji"
)

// kubeconfigs are Kamaji's Secrets.
var kubeconfigs = client.MatchingLabels{componentLabel: component, projectLabel: project}

// SecretLabels are those of the kubeconfig of a cluster.
func SecretLabels(name string) map[string]string {
	return map[string]string{componentLabel: component, projectLabel: project, NameLabel: name}
}

// SecretName of the kubeconfig of a cluster.
func SecretName(name string) string { return name + "-" + component }

var tenantControlPlane = schema.GroupVersionKind{Group: "kamaji.clastix.io", Version: "v1alpha1", Kind: "TenantControlPlane"}

// AllowedLabel of a namespace says that its DPUServices, and its TenantControlPlanes, are DPF's. Only an administrator of the cluster can write
// it. The operator's namespace needs none.
const AllowedLabel, allowed = "dpf.nvidia.com/dpuservices", "allowed"

// ErrNotAllowed is of a DPU cluster in a namespace without the label. What it has got before stays as it is.
var ErrNotAllowed = errors.New("an administrator has to allow DPU clusters in its namespace")

// DefaultProbeInterval is how often a cluster is asked whether it is there.
const DefaultProbeInterval = 10 * time.Second

// Config of Clusters.
type Config struct {
	// Scheme of the clients.
	Scheme *runtime.Scheme
	// Cached kinds: they are read from a cache, and Source has their changes. A kind that a cluster doesn't know is neither, until the
	// cluster knows it. All other kinds are read live.
	Cached map[client.Object]cache.ByObject
	// Egress says where kubeconfigs may lead to.
	Egress egress.Policy
	// ProbeInterval is how often a cluster is asked whether it is there; default DefaultProbeInterval.
	ProbeInterval time.Duration
}

// Cluster is one DPU cluster, as it is now.
type Cluster struct {
	// Name of the TenantControlPlane.
	Name types.NamespacedName
	// Labels of the kubeconfig's Secret, which a clusterSelector is about.
	Labels labels.Set
	// Access to the API server, with credentials; nil where the kubeconfig can't be used.
	Access *rest.Config
	// Client of a cluster that answers, else nil.
	Client client.Client
	// Err says why there is no Client.
	Err error
}

// Event is a change of an object, or of a cluster.
type Event struct {
	Cluster types.NamespacedName
	// Object of a cached kind that was written or deleted; nil where the cluster came, went, or answers again.
	Object client.Object
}

// Clusters are all DPU clusters.
type Clusters struct {
	config Config
	// metadata of Secrets, from the cache; live reads them.
	metadata, live client.Reader

	mu sync.Mutex
	// members by their Secrets.
	members map[types.NamespacedName]*member
	sinks   []func(Event)
	// running members.
	running sync.WaitGroup
}

var errNew = errors.New("it isn't connected yet")

// All clusters, in the order of their names. Of two Secrets that claim one name, the first counts. One that is refused isn't a cluster.
func (c *Clusters) All(ctx context.Context) ([]Cluster, error) {
	all, _, err := c.Seen(ctx)
	return all, err
}

// Seen are all clusters, and those that are refused: that Secrets with Kamaji's labels claim, but no TenantControlPlane, or one in a namespace
// that isn't allowed to have any. These are for people to see, and get nothing. Both are of one moment, so that a cluster whose namespace is
// being allowed is one or the other: what is neither is taken for gone.
func (c *Clusters) Seen(ctx context.Context) (clusters, refused []Cluster, _ error) {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := c.metadata.List(ctx, secrets, kubeconfigs); err != nil {
		return nil, nil, fmt.Errorf("list the kubeconfigs of DPU clusters: %w", err)
	}
	slices.SortFunc(secrets.Items, func(a, b metav1.PartialObjectMetadata) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	all := map[types.NamespacedName]bool{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, secret := range secrets.Items {
		name := nameOf(&secret)
		if all[name] || name.Name == "" || secret.DeletionTimestamp != nil {
			continue
		}
		m := c.members[client.ObjectKeyFromObject(&secret)]
		if m != nil && m.refused {
			continue
		}
		all[name] = true
		cluster := Cluster{Name: name, Labels: secret.Labels, Err: errNew}
		if m != nil && m.name == name {
			cluster.Access, cluster.Client, cluster.Err = m.state()
		}
		clusters = append(clusters, cluster)
	}
	for _, m := range c.members {
		if m.refused {
			refused = append(refused, Cluster{Name: m.name, Err: m.err})
		}
	}
	sort(clusters)
	sort(refused)
	return clusters, refused, nil
}

func sort(clusters []Cluster) {
	slices.SortFunc(clusters, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(a.Name.Namespace, b.Name.Namespace), cmp.Compare(a.Name.Name, b.Name.Name))
	})
}

// NotAllowed are those that are refused for their namespace alone.
func NotAllowed(refused []Cluster) []Cluster {
	return slices.DeleteFunc(refused, func(c Cluster) bool { return !errors.Is(c.Err, ErrNotAllowed) })
}

// Matching are those with certain labels: all, without a selector. Those of which it isn't known are besides.
func (c *Clusters) Matching(ctx context.Context, selector *metav1.LabelSelector) (matching, others, notAllowed []Cluster, _ error) {
	all, refused, err := c.Seen(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	chosen := labels.Everything()
	if selector != nil {
		if chosen, err = metav1.LabelSelectorAsSelector(selector); err != nil {
			return nil, nil, nil, fmt.Errorf("read the clusterSelector: %w", err)
		}
	}
	for _, cluster := range all {
		if chosen.Matches(cluster.Labels) {
			matching = append(matching, cluster)
		} else {
			others = append(others, cluster)
		}
	}
	return matching, others, NotAllowed(refused), nil
}

func nameOf(secret client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: secret.GetNamespace(), Name: secret.GetLabels()[NameLabel]}
}

// Source of a controller: what the events mean for its objects. The function is called for each event, and must not wait.
func (c *Clusters) Source(concern func(context.Context, Event) []ctrl.Request) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sinks = append(c.sinks, func(e Event) {
			for _, request := range concern(ctx, e) {
				queue.Add(request)
			}
		})
		return nil
	})
}

func (c *Clusters) notify(e Event) {
	c.mu.Lock()
	sinks := slices.Clone(c.sinks)
	c.mu.Unlock()
	for _, sink := range sinks {
		sink(e)
	}
}

// EnsureNamespace makes a namespace in a cluster, if it isn't there.
func EnsureNamespace(ctx context.Context, c client.Client, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err := c.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
	if apierrors.IsNotFound(err) {
		if err = c.Create(ctx, namespace); apierrors.IsAlreadyExists(err) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("make the namespace %s: %w", name, err)
	}
	return nil
}
