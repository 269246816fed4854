// Package provider puts the controllers of Krake together.
package provider

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/krake/cluster"
	"github.com/bedplate/bedplate/internal/krake/im"
	"github.com/bedplate/bedplate/internal/krake/scheduler"
	"github.com/bedplate/bedplate/internal/ledgers"
)

// DefaultCreateDeadline is that of --create-deadline.
const DefaultCreateDeadline = time.Hour

// AddToScheme makes every kind known that the controllers read or write.
func AddToScheme(scheme *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, krakev1.AddToScheme, ledgerv1.AddToScheme(krakev1.LedgerGroup))
	return builder.AddToScheme(scheme)
}

// Lists of the kinds for whose objects something is created outside.
func Lists() []client.ObjectList { return []client.ObjectList{&krakev1.ClusterList{}} }

// Config of the controllers.
type Config struct {
	Cluster   cluster.Config
	Scheduler scheduler.Config
	// Change may modify the configuration of clients of IM.
	Change func(*im.Config)
}

// Setup registers the controllers.
func Setup(_ context.Context, mgr ctrl.Manager, engine *graph.Engine, config Config, options controller.Options) error {
	engine.Paused = paused(engine.Live)
	clusters := &cluster.Reconciler{
		Client: mgr.GetClient(), Engine: engine, Config: config.Cluster,
		Clients: cluster.NewClients(engine.Live, mgr.GetCache(), engine.Clock, config.Change),
	}
	if err := clusters.SetupWithManager(mgr, options); err != nil {
		return err
	}
	config.Scheduler.Poll, config.Scheduler.Clock, config.Scheduler.Options = engine.Poll, clock.RealClock{}, options
	if err := scheduler.Setup(mgr, config.Scheduler); err != nil {
		return err
	}
	if err := mgr.Add(&ledgers.Keeper{Store: engine.Store, Poll: engine.Poll, Owners: Lists()}); err != nil {
		return fmt.Errorf("add the keeper of ledgers: %w", err)
	}
	return nil
}

// paused reports past the cache whether a Cluster is.
func paused(live client.Reader) func(context.Context, client.Object) (bool, error) {
	return func(ctx context.Context, owner client.Object) (bool, error) {
		newest := &krakev1.Cluster{}
		err := live.Get(ctx, client.ObjectKeyFromObject(owner), newest)
		return newest.Spec.Paused, client.IgnoreNotFound(err)
	}
}
