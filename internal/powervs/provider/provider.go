// Package provider puts the Cluster API provider for IBM Power Virtual Servers together.
package provider

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/capi"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/ledgers"
	"github.com/bedplate/bedplate/internal/lifecycle"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/cluster"
	"github.com/bedplate/bedplate/internal/powervs/image"
)

// AddToScheme makes every kind known that the provider reads or writes.
func AddToScheme(scheme *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme,
		ledgerv1.AddToScheme(infrav1.LedgerGroup))
	return builder.AddToScheme(scheme)
}

// Lists of the kinds for whose objects something is created outside.
func Lists() []client.ObjectList {
	return []client.ObjectList{&infrav1.IBMPowerVSClusterList{}, &infrav1.IBMPowerVSMachineList{}, &infrav1.IBMPowerVSImageList{}}
}

// Config of the provider.
type Config struct {
	// Change may modify the configuration of clients of IBM Cloud.
	Change func(*ibm.Config)
	// Credentials are those of clusters that name none; the name is empty if there are no such ones.
	Credentials types.NamespacedName
}

// Setup registers the provider's controllers.
func Setup(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, config Config, options controller.Options) error {
	engine.Paused = capi.LivePause(engine.Live)
	clients := &credentials.Cache[*ibm.Client]{
		Reader: engine.Live, Metadata: mgr.GetCache(), Clock: engine.Clock, Build: ibm.Connect(config.Change),
	}
	guard := &credentials.Guard{
		Client: mgr.GetClient(), Metadata: mgr.GetCache(), Live: engine.Live, Finalizer: cluster.SecretFinalizer,
		InUse:  inUse(mgr.GetClient(), cluster.Users(config.Credentials), image.Users),
		Others: []credentials.Users{image.Users},
	}
	logins := lifecycle.Logins[*ibm.Client]{Engine: engine, Clients: clients, Guard: guard}
	clusters := &cluster.Reconciler{Client: mgr.GetClient(), Logins: logins, Default: config.Credentials}
	if err := clusters.SetupWithManager(ctx, mgr, options); err != nil {
		return fmt.Errorf("set up the IBMPowerVSCluster controller: %w", err)
	}
	if err := setupMachines(ctx, mgr, logins, config, options); err != nil {
		return err
	}
	if err := mgr.Add(&ledgers.Keeper{Store: engine.Store, Poll: engine.Poll, Owners: Lists()}); err != nil {
		return fmt.Errorf("add the keeper of ledgers: %w", err)
	}
	if err := guard.SetupWithManager(mgr, &infrav1.IBMPowerVSCluster{}, cluster.SecretOf(config.Credentials), options); err != nil {
		return fmt.Errorf("set up the guard of credentials: %w", err)
	}
	return nil
}
