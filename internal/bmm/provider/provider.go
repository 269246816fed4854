// Package provider puts the Cluster API provider for NVIDIA bare metal together.
package provider

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/bmm/machine"
	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/graph"
)

// AddToScheme makes every kind known that the provider reads or writes.
func AddToScheme(scheme *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme)
	return builder.AddToScheme(scheme)
}

// Setup registers the provider's controllers. Settle is how long the BMM API may still finish a create whose client is
// gone.
func Setup(ctx context.Context, mgr ctrl.Manager, engine *graph.Engine, settle time.Duration, options controller.Options) error {
	clients := &credentials.Cache[*bmm.Client]{Reader: engine.Live, Build: newClient, Clock: engine.Clock}
	clusters := &cluster.Reconciler{Client: mgr.GetClient(), Engine: engine, Clients: clients, Settle: settle}
	if err := clusters.SetupWithManager(ctx, mgr, options); err != nil {
		return fmt.Errorf("set up the NvidiaBMMCluster controller: %w", err)
	}
	machines := &machine.Reconciler{Client: mgr.GetClient(), Engine: engine, Clients: clients, Settle: settle}
	if err := machines.SetupWithManager(mgr, options); err != nil {
		return fmt.Errorf("set up the NvidiaBMMMachine controller: %w", err)
	}
	return nil
}

func newClient(secret *corev1.Secret) (*bmm.Client, error) {
	config, err := bmm.FromSecret(secret)
	if err != nil {
		return nil, err
	}
	return bmm.New(config)
}
