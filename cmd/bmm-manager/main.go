// bmm-manager is the Cluster API infrastructure provider for NVIDIA bare metal.
package main

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/bmm/machine"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/manager"
)

func main() {
	command := manager.Command("bedplate-bmm-manager", "Cluster API infrastructure provider for NVIDIA bare metal", run)
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, options *manager.Options) error {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	engine := options.Engine(mgr)
	clients := &credentials.Cache[*bmm.Client]{Reader: mgr.GetAPIReader(), Build: clientOf, Clock: clock.RealClock{}}

	clusters := &cluster.Reconciler{Client: mgr.GetClient(), Engine: engine, Clients: clients, Settle: options.Settle}
	if err := clusters.SetupWithManager(ctx, mgr, options.Controller()); err != nil {
		return fmt.Errorf("set up the NvidiaBMMCluster controller: %w", err)
	}
	machines := &machine.Reconciler{Client: mgr.GetClient(), Engine: engine, Clients: clients, Settle: options.Settle}
	if err := machines.SetupWithManager(ctx, mgr, options.Controller()); err != nil {
		return fmt.Errorf("set up the NvidiaBMMMachine controller: %w", err)
	}
	return mgr.Start(ctx)
}

func clientOf(secret *corev1.Secret) (*bmm.Client, error) {
	config, err := bmm.FromSecret(secret)
	if err != nil {
		return nil, err
	}
	return bmm.New(config)
}
