// Package cloudprovider ties the Nodes of a cluster to the instances of a BMM site, for Kubernetes' own controllers: the one
// that initialises Nodes, and the one that deletes those whose instances are gone.
//
// How the instances are comes from one paged list in each interval. That an instance exists no more is said in one case
// only: the BMM API doesn't know it, and does know its site, through the same client. All else is an error, which keeps the
// Node.
package cloudprovider

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
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

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/bmm/providerid"
	"github.com/bedplate/bedplate/internal/bmm/topology"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/memo"
)

// Name of the provider: the value of --cloud-provider, and the scheme of its provider IDs.
const Name = providerid.Scheme

const (
	// recent is how old the list may be in which an instance isn't found at first. Upstream tries again and again, at longer
	// and longer intervals: after so long a new list still initialises a Node within two seconds.
	recent = time.Second
	// siteKeptFor is how long the ID of a site is taken for current that is named by its name.
	siteKeptFor = time.Hour
	component   = "bmm-cloud-provider"
)

// Cloud is the site as Kubernetes' controllers see it.
type Cloud struct {
	config    Config
	clock     clock.Clock
	clients   *credentials.Cache[*bmm.Client]
	instances *inventory.Inventory
	places    *topology.Lookup
	siteIDs   *memo.Memo[siteName, string]
	troubles  *troubles
	nodes     nodes
	stop      <-chan struct{}

	mu           sync.Mutex
	last, before *site // with the login of now, and with another one
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
	retryAfter := config.Interval.Duration / 2
	return &Cloud{
		config: config, clock: now,
		clients: &credentials.Cache[*bmm.Client]{
			Reader: folder{}, Clock: now,
			Build: bmm.Connect(func(c *bmm.Config) {
				c.Timeout, c.RefusalPause = config.Timeout, config.Interval.Duration
			}),
		},
		instances: inventory.New(config.Interval.Duration, now),
		places:    topology.NewLookup(retryAfter, now),
		siteIDs:   memo.New[siteName, string](siteKeptFor, retryAfter, now),
		troubles:  newTroubles(now),
	}
}

// Initialize begins to list the instances, and lets events be recorded.
func (c *Cloud) Initialize(builder cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	ctx := wait.ContextForChannel(stop)
	c.stop = stop
	events := record.NewBroadcaster(record.WithContext(ctx))
	events.StartRecordingToSink(&clientcorev1.EventSinkImpl{Interface: builder.ClientOrDie(component).CoreV1().Events("")})
	c.troubles.recorder = events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})
	go func() {
		if err := c.instances.Start(ctx); err != nil {
			klog.ErrorS(err, "List the instances")
		}
		events.Shutdown()
	}()
}

// SetInformers lets the Nodes be known. What is remembered of one goes with it. It panics where the cache of Nodes can't be
// prepared.
func (c *Cloud) SetInformers(factory informers.SharedInformerFactory) {
	informer := factory.Core().V1().Nodes().Informer()
	// Without its index two Nodes could get one instance: then better none is looked after.
	utilruntime.Must(informer.AddIndexers(cache.Indexers{byProviderID: providerIDOf}))
	utilruntime.Must(informer.SetTransform(slim))
	c.nodes = nodes{informer.GetIndexer()}
	c.troubles.exists = c.nodes.has
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if node, ok := object.(*corev1.Node); ok {
			c.troubles.forget(node.UID)
		}
	}})
	utilruntime.Must(err)
	go c.follow(wait.ContextForChannel(c.stop))
}

// follow looks after the nodes of the instances that have changed, so that their troubles are told of soon.
func (c *Cloud) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case change := <-c.instances.Changes():
			id := providerid.ProviderID{SiteID: change.Object.SiteID, InstanceID: change.Object.InstanceID}
			for _, node := range c.nodes.of(id) {
				_, _ = c.find(ctx, node) // notes what is wrong
			}
		}
	}
}

// InstancesV2 is supported.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c, true }

// Zones is supported; nobody asks for it where InstancesV2 is.
func (c *Cloud) Zones() (cloudprovider.Zones, bool) { return c, true }

// Instances has been replaced by InstancesV2.
func (c *Cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// LoadBalancer isn't implemented: there is room for somebody else's.
func (c *Cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

// Clusters isn't implemented.
func (c *Cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// Routes isn't implemented: the network plugin makes them.
func (c *Cloud) Routes() (cloudprovider.Routes, bool) { return nil, false }

// ProviderName is the scheme of provider IDs.
func (c *Cloud) ProviderName() string { return Name }

// HasClusterID is true: nothing is shared with another cluster that an ID would have to tell apart.
func (c *Cloud) HasClusterID() bool { return true }
