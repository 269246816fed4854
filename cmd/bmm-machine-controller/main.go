// bmm-machine-controller makes bare-metal instances for the Machines of OpenShift.
package main

import (
	"context"
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bedplate/bedplate/internal/bmm/actuator"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/manager"
	"github.com/bedplate/bedplate/internal/waiting"
)

func main() {
	command := manager.EngineCommand("bedplate-bmm-machine-controller", "Machine controller of OpenShift for NVIDIA bare metal", run)
	manager.Main(command)
}

func run(ctx context.Context, options *manager.Options) error {
	scheme := runtime.NewScheme()
	if err := actuator.AddToScheme(scheme); err != nil {
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
	if err := actuator.Setup(ctx, mgr, engine, pace, options.Controller()); err != nil {
		return err
	}
	if err := options.Webhooks(mgr, actuator.SetupWebhooks); err != nil {
		return err
	}
	waits := waiting.New(mgr.GetClient(), &machinev1.MachineList{})
	waits.Conditions = actuator.Conditions
	if err := mgr.Add(waiting.WhileLeading{Collector: waits}); err != nil {
		return fmt.Errorf("count what waits: %w", err)
	}
	return options.Run(ctx, mgr, engine)
}
