// Package provider puts the controllers of Krake together.
package provider

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/krake/cluster"
	"github.com/bedplate/bedplate/internal/krake/guard"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/observer"
	"github.com/bedplate/bedplate/internal/krake/scheduler"
	"github.com/bedplate/bedplate/internal/krake/tosca"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// Defaults of the manager's flags.
const (
	// DefaultGlobalNamespace is that of --global-namespace.
	DefaultGlobalNamespace = "bedplate-krake-system"
	// DefaultCreateDeadline is that of --create-deadline.
	DefaultCreateDeadline = time.Hour
	// DefaultObserveInterval is that of --observe-interval.
	DefaultObserveInterval = 30 * time.Second
)

// AddToScheme makes every kind known that the controllers read or write.
func AddToScheme(scheme *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, krakev1.AddToScheme, ledgerv1.AddToScheme(krakev1.LedgerGroup))
	return builder.AddToScheme(scheme)
}

// Lists of the kinds for whose objects something is created outside.
func Lists() []client.ObjectList { return []client.ObjectList{&krakev1.ClusterList{}} }

// Config of the controllers.
type Config struct {
	// GlobalNamespace has the Secrets of Global kinds. If it is empty, these aren't used: a manager of one namespace doesn't see who else uses
	// them.
	GlobalNamespace string
	// Imports are what templates may import.
	Imports tosca.Imports
	// CreateDeadline is how long an infrastructure may be in progress until it is reconfigured.
	CreateDeadline time.Duration
	// ObserveInterval is the time between looks at a cluster that is well. With 0, neither clusters nor providers are observed.
	ObserveInterval time.Duration
	// Seed of the choice among equal clouds.
	Seed uint64
	// Egress says where kubeconfigs and metrics providers may lead to.
	Egress egress.Policy
	// Change may modify the configuration of clients of IM: with im.Paced they share their limits.
	Change func(*im.Config)
}

// Setup registers the controllers.
func Setup(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, config Config, options controller.Options) error {
	engine.Paused = paused(engine.Live)
	guards, err := guard.Setup(ctx, mgr, guard.Config{GlobalNamespace: config.GlobalNamespace, Options: options})
	if err != nil {
		return err
	}
	clusters := &cluster.Reconciler{
		Client: mgr.GetClient(), Engine: engine,
		Config: cluster.Config{
			GlobalNamespace: config.GlobalNamespace, Imports: config.Imports, CreateDeadline: config.CreateDeadline,
			Keep: func(ctx context.Context, on *cluster.Place) error {
				if on.Cloud.Known().Clusters == 0 { // once they are counted, the cloud stays where it is
					return phases.ErrStale
				}
				return guards.Keep(ctx, []client.Object{on.Cloud, on.Provider}, on.Login, on.CloudLogin)
			},
		},
		Clients: cluster.NewClients(engine.Live, mgr.GetCache(), engine.Clock, config.Change),
	}
	var observed error
	if config.ObserveInterval > 0 {
		observed = observer.Setup(mgr, observer.Config{
			Egress: config.Egress, Interval: config.ObserveInterval, GlobalNamespace: config.GlobalNamespace, Change: config.Change,
			Clock: engine.Clock, Options: options,
		})
	}
	madeOn := func(ctx context.Context, c *krakev1.Cluster) (*krakev1.CloudReference, error) {
		return cluster.MadeOn(ctx, mgr.GetClient(), engine.Live, c)
	}
	noGlobal := ""
	if config.GlobalNamespace == "" {
		noGlobal = cluster.NoGlobal
	}
	return errors.Join(
		observed,
		clusters.SetupWithManager(mgr, options),
		scheduler.Setup(mgr, scheduler.Config{
			Egress: config.Egress, MadeOn: madeOn, NoGlobal: noGlobal, Seed: config.Seed, Poll: engine.Poll, Clock: clock.RealClock{},
			Options: options,
		}),
		mgr.Add(&ledgers.Keeper{Store: engine.Store, Poll: engine.Poll, Owners: Lists()}),
	)
}

// paused reports past the cache whether a Cluster is.
func paused(live client.Reader) func(context.Context, client.Object) (bool, error) {
	return func(ctx context.Context, owner client.Object) (bool, error) {
		newest := &krakev1.Cluster{}
		err := live.Get(ctx, client.ObjectKeyFromObject(owner), newest)
		return newest.Spec.Paused, client.IgnoreNotFound(err)
	}
}
