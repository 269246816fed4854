// dpf-dpu-manager runs in a DPU cluster, and makes of its ServiceChainSets and ServiceInterfaceSets an object for each node.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpuset"
	"github.com/bedplate/bedplate/internal/manager"
)

func main() {
	command := manager.Command("dpf-dpu-manager", "Chains and interfaces of services for each node of a DPU cluster", run)
	if err := command.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, options *manager.Options) error {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, svcv1.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	mgr, err := options.New(scheme)
	if err != nil {
		return err
	}
	if err := dpuset.SetupFanOut(mgr, options.Controller()); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
