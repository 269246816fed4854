// bmm-manager is the Cluster API infrastructure provider for NVIDIA bare metal.
package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/provider"
	"github.com/bedplate/bedplate/internal/manager"
	"github.com/bedplate/bedplate/internal/waiting"
)

func main() {
	command := manager.EngineCommand("bedplate-bmm-manager", "Cluster API infrastructure provider for NVIDIA bare metal", run)
	manager.Main(command)
}

func run(ctx context.Context, options *manager.Options) error {
	scheme := runtime.NewScheme()
	if err := provider.AddToScheme(scheme); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	policy, err := options.EgressPolicy(ctx)
	if err != nil {
		return err
	}
	engine := options.Engine(mgr)
	pace := bmm.Paced(options.Poll, options.OutsideQPS, options.OutsideBurst, policy)
	if err := provider.Setup(ctx, mgr, engine, pace, options.Controller()); err != nil {
		return err
	}
	if err := options.Webhooks(mgr, provider.SetupWebhooks); err != nil {
		return err
	}
	if err := mgr.Add(waiting.WhileLeading{Collector: waiting.New(mgr.GetClient(), provider.Lists()...)}); err != nil {
		return fmt.Errorf("count what waits: %w", err)
	}
	return options.Run(ctx, mgr, engine)
}
