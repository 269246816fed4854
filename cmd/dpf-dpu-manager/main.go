// dpf-dpu-manager runs in a DPU cluster, and makes of its ServiceChainSets and ServiceInterfaceSets an object for each node. Chains and
// interfaces are two components: each has its processes, its lease and its rights.
package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpuset"
	"github.com/bedplate/bedplate/internal/flagcheck"
	"github.com/bedplate/bedplate/internal/manager"
)

func main() {
	manager.Main(newCommand())
}

const name = "dpf-dpu-manager"

// controllers that may be chosen, with the sets that they are for.
var controllers = map[string][]string{
	"chains": {dpuset.ChainSets}, "interfaces": {dpuset.InterfaceSets}, "": {dpuset.ChainSets, dpuset.InterfaceSets},
}

func newCommand() *cobra.Command {
	var chosen string
	command := manager.Command(name, "Chains and interfaces of services for each node of a DPU cluster",
		func(ctx context.Context, options *manager.Options) error { return run(ctx, options, chosen) })
	command.Flags().StringVar(&chosen, "controllers", "", `Which controllers run: "chains" or "interfaces". Without it both do.`)
	return command
}

func run(ctx context.Context, options *manager.Options, chosen string) error {
	kinds, ok := controllers[chosen]
	if err := flagcheck.That("controllers", chosen, ok, "chains or interfaces"); err != nil {
		return err
	}
	if chosen != "" {
		options.Name = name + "-" + chosen
	}
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, svcv1.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	if err := dpuset.SetupFanOut(mgr, options.Controller(), kinds...); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
