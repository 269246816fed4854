// Package provider puts the Cluster API provider for NVIDIA bare metal together.
package provider

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/bmm/inventory"
	"github.com/bedplate/bedplate/internal/bmm/machine"
	"github.com/bedplate/bedplate/internal/bmm/machinetemplate"
	"github.com/bedplate/bedplate/internal/bmm/publish"
	"github.com/bedplate/bedplate/internal/bmm/topology"
	"github.com/bedplate/bedplate/internal/bmm/webhook"
	"github.com/bedplate/bedplate/internal/capi"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
)

// AddToScheme makes every kind known that the provider reads or writes.
func AddToScheme(scheme *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme,
		ledgerv1.AddToScheme(ledgerv1.GroupBMM))
	return builder.AddToScheme(scheme)
}

// Lists of the kinds for whose objects something is created outside.
func Lists() []client.ObjectList {
	return []client.ObjectList{&infrav1.NvidiaBMMClusterList{}, &infrav1.NvidiaBMMMachineList{}}
}

// SetupWebhooks registers the provider's webhooks.
func SetupWebhooks(mgr ctrl.Manager) error { return webhook.SetupWithManager(mgr) }

// Setup registers the provider's controllers. Change may modify the configuration of clients of the BMM API.
func Setup(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, change func(*bmm.Config), options controller.Options) error {
	engine.Paused = capi.LivePause(engine.Live)
	clients := &credentials.Cache[*bmm.Client]{
		Reader: engine.Live, Metadata: mgr.GetCache(), Clock: engine.Clock, Build: bmm.Connect(change),
	}
	guard := &credentials.Guard{
		Client: mgr.GetClient(), Metadata: mgr.GetCache(), Live: engine.Live, Finalizer: cluster.SecretFinalizer,
		InUse: cluster.Users.InUse(mgr.GetClient()),
	}
	logins := lifecycle.Logins[*bmm.Client]{Engine: engine, Clients: clients, Guard: guard}
	clusters := &cluster.Reconciler{Client: mgr.GetClient(), Logins: logins}
	if err := clusters.SetupWithManager(ctx, mgr, options); err != nil {
		return fmt.Errorf("set up the NvidiaBMMCluster controller: %w", err)
	}
	instances := inventory.New(engine.Poll, engine.Clock)
	if err := mgr.Add(instances); err != nil {
		return fmt.Errorf("add the inventory of instances: %w", err)
	}
	machines := &machine.Reconciler{Client: mgr.GetClient(), Logins: logins, Instances: instances}
	if err := machines.SetupWithManager(ctx, mgr, options); err != nil {
		return fmt.Errorf("set up the NvidiaBMMMachine controller: %w", err)
	}
	templates := &machinetemplate.Reconciler{Client: mgr.GetClient(), Clients: clients, Poll: engine.Poll}
	if err := templates.SetupWithManager(mgr, options); err != nil {
		return fmt.Errorf("set up the NvidiaBMMMachineTemplate controller: %w", err)
	}
	var of bmm.Config
	change(&of)
	publisher := &publish.Reconciler{
		Client: mgr.GetClient(), Secrets: engine.Live, Recorder: engine.Recorder, Clients: clients, Instances: instances,
		Places: topology.NewLookup(engine.Poll/2, clock.RealClock{}), Clock: engine.Clock, Poll: engine.Poll,
		Egress: of.Egress.WithoutList(), // which is of BMM APIs
	}
	if err := publisher.SetupWithManager(mgr, options); err != nil {
		return fmt.Errorf("set up the publication of instances: %w", err)
	}
	if err := mgr.Add(&ledgers.Keeper{Store: engine.Store, Poll: engine.Poll, Owners: Lists()}); err != nil {
		return fmt.Errorf("add the keeper of ledgers: %w", err)
	}
	if err := guard.SetupWithManager(mgr, &infrav1.NvidiaBMMCluster{}, cluster.SecretOf, options); err != nil {
		return fmt.Errorf("set up the guard of credentials: %w", err)
	}
	return nil
}
