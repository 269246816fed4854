// Package cloudprovider ties the Nodes of a cluster to the instances of a BMM site, for Kubernetes' own controllers: the one
// that initialises Nodes, and the one that deletes those whose instances are gone.
//
// The state of the instances comes from one paged list in each interval, or from what a management cluster publishes. An instance
// counts as gone only if the BMM API doesn't know it, and does know its site, through the same client; or if the management
// cluster has published that it has proven the same. All else is an error, which keeps the Node.
package cloudprovider

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/bedplate/bedplate/internal/bmm/providerid"
)

// Name of the provider: the value of --cloud-provider, and the scheme of its provider IDs.
const Name = providerid.Scheme

const (
	// recent is how old the list may be in which an instance isn't found at first. Upstream retries with backoff: after so
	// long a new list still initialises a Node within two seconds.
	recent = time.Second
	// siteKeptFor is how long the ID of a site that is configured by its name counts as current.
	siteKeptFor = time.Hour
	component   = "bmm-cloud-provider"
	// annotationKnown of a Node is when the instance that it waited for became known.
	annotationKnown = "bmm.bedplate.dev/instance-known"
)

// Cloud is the site as Kubernetes' controllers see it.
type Cloud struct {
	config   Config
	clock    clock.Clock
	source   source
	problems *problems
	nodes    nodes
	builder  cloudprovider.ControllerClientBuilder
	stop     <-chan struct{}
}

var (
	_ cloudprovider.Interface    = &Cloud{}
	_ cloudprovider.InformerUser = &Cloud{}
	_ cloudprovider.InstancesV2  = &Cloud{}
	_ cloudprovider.Zones        = &Cloud{}
)

// New returns the site that a configuration names. It makes no call.
func New(config Config) *Cloud {
	config = config.withDefaults()
	now := clock.RealClock{}
	c := &Cloud{config: config, clock: now, problems: newProblems(now)}
	if config.Published {
		c.source = &published{patience: config.Timeout}
	} else {
		c.source = newDirect(config, now)
	}
	return c
}

// Initialize sets up the recording of events.
func (c *Cloud) Initialize(builder cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	ctx := wait.ContextForChannel(stop)
	c.builder, c.stop = builder, stop
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(&clientcorev1.EventSinkImpl{Interface: builder.ClientOrDie(component).CoreV1().Events("")})
	c.problems.recorder = events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})
	go func() {
		<-ctx.Done()
		events.Shutdown()
	}()
}

// SetInformers sets up the cache of Nodes, and starts to follow their instances. What is remembered of a Node is forgotten
// with it. It panics if the cache of Nodes can't be prepared.
func (c *Cloud) SetInformers(factory informers.SharedInformerFactory) {
	informer := factory.Core().V1().Nodes().Informer()
	// Without its index two Nodes could get one instance: better initialize none then.
	utilruntime.Must(informer.AddIndexers(cache.Indexers{byProviderID: providerIDOf}))
	utilruntime.Must(informer.SetTransform(slim))
	c.nodes = nodes{informer.GetIndexer()}
	c.problems.exists = c.nodes.has
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if node, ok := object.(*corev1.Node); ok {
			c.problems.forget(node.UID)
		}
	}})
	utilruntime.Must(err)
	ctx := wait.ContextForChannel(c.stop)
	c.source.start(ctx, c.builder, func(is change) { c.follow(ctx, is) })
}

// site as it is known now. Its errors say nothing of an instance.
func (c *Cloud) site(ctx context.Context) (site, error) {
	now, err := c.source.site(ctx)
	if err != nil {
		return nil, err
	}
	if listed, err := now.listed(); err == nil {
		c.problems.siteAnswered(listed)
	}
	return now, nil
}

// follow checks the nodes of an instance that has changed, so that events say soon what is wrong. Nodes that waited for just
// that are initialised: upstream would retry them later and later.
func (c *Cloud) follow(ctx context.Context, is change) {
	for _, node := range c.nodes.concerned(is) {
		_, err := c.find(ctx, node) // records what is wrong
		if err != nil || !uninitialized(node) {
			continue
		}
		if err := c.nudge(ctx, node); err != nil {
			klog.ErrorS(err, "A node waits on until it is looked at again", "node", node.Name)
		}
	}
}

// nudge has upstream sync a node now: it does so when the Node has changed.
func (c *Cloud) nudge(ctx context.Context, node *corev1.Node) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotationKnown, c.clock.Now().UTC().Format(time.RFC3339Nano))
	_, err := c.builder.ClientOrDie(component).CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// InstancesV2 is supported.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c, true }

// Zones is supported; it isn't called if InstancesV2 is.
func (c *Cloud) Zones() (cloudprovider.Zones, bool) { return c, true }

// Instances has been replaced by InstancesV2.
func (c *Cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// LoadBalancer isn't implemented: another program may provide it.
func (c *Cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

// Clusters isn't implemented.
func (c *Cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// Routes isn't implemented: the network plugin makes them.
func (c *Cloud) Routes() (cloudprovider.Routes, bool) { return nil, false }

// ProviderName is the scheme of provider IDs.
func (c *Cloud) ProviderName() string { return Name }

// HasClusterID is true: nothing is shared with another cluster that an ID would have to distinguish.
func (c *Cloud) HasClusterID() bool { return true }
