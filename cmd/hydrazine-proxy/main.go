// hydrazine-proxy lets managers of bare metal without Kubernetes control Hydrazine, by gRPC.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
	"github.com/bedplate/bedplate/internal/manager"
	"github.com/bedplate/bedplate/internal/mtls"
)

func main() {
	config, files := &proxy.Config{}, &mtls.Files{}
	command := manager.ServerCommand("bedplate-hydrazine-proxy", "Tenant networks over bare metal, for clients that speak gRPC",
		func(ctx context.Context, options *manager.Options) error { return run(ctx, options, config, files) })
	config.AddFlags(command.Flags())
	files.AddFlags(command.Flags())
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, options *manager.Options, config *proxy.Config, files *mtls.Files) error {
	if err := config.Validate(); err != nil {
		return err
	}
	config.Plaintext = files.Insecure
	ctx = ctrl.LoggerInto(ctx, ctrl.Log)
	transport, err := files.Server(ctx, config.Authorize)
	if err != nil {
		return err
	}
	expiry, err := files.Expiry(ctx)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), resourcev1.AddToScheme(scheme), networkfabricv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	c, err := client.NewWithWatch(mgr.GetConfig(), client.Options{Scheme: scheme, Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("make the API server's client: %w", err)
	}
	server, err := proxy.New(*config, c, transport, metrics.Registry)
	if err != nil {
		return err
	}
	metrics.Registry.MustRegister(expiry)
	if err := mgr.AddReadyzCheck("objects", server.Ready); err != nil {
		return fmt.Errorf("add the readiness check: %w", err)
	}
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("add the server: %w", err)
	}
	return mgr.Start(ctx)
}
