package provider

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/bedplate/bedplate/internal/credentials"
	"github.com/bedplate/bedplate/internal/lifecycle"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/image"
	"github.com/bedplate/bedplate/internal/powervs/inventory"
	"github.com/bedplate/bedplate/internal/powervs/machine"
	"github.com/bedplate/bedplate/internal/powervs/machinetemplate"
)

// setupMachines registers the controllers of machines, their images and their templates.
func setupMachines(
	ctx context.Context, mgr ctrl.Manager, logins lifecycle.Logins[*ibm.Client], config Config, options controller.Options,
) error {
	vms := inventory.New(logins.Engine.Poll, logins.Engine.Clock)
	if err := mgr.Add(vms); err != nil {
		return fmt.Errorf("add the inventory of virtual machines: %w", err)
	}
	machines := &machine.Reconciler{Client: mgr.GetClient(), Logins: logins, Default: config.Credentials, VMs: vms}
	if err := machines.SetupWithManager(ctx, mgr, options); err != nil {
		return fmt.Errorf("set up the IBMPowerVSMachine controller: %w", err)
	}
	images := &image.Reconciler{Client: mgr.GetClient(), Logins: logins, Default: config.Credentials}
	if err := images.SetupWithManager(ctx, mgr, options); err != nil {
		return fmt.Errorf("set up the IBMPowerVSImage controller: %w", err)
	}
	templates := &machinetemplate.Reconciler{Client: mgr.GetClient(), Poll: logins.Engine.Poll}
	if err := templates.SetupWithManager(mgr, options); err != nil {
		return fmt.Errorf("set up the IBMPowerVSMachineTemplate controller: %w", err)
	}
	return nil
}

// inUse reports whether an object of one of the kinds logs in with a Secret.
func inUse(c client.Reader, kinds ...credentials.Users) func(context.Context, types.NamespacedName) (bool, error) {
	return func(ctx context.Context, secret types.NamespacedName) (bool, error) {
		for _, users := range kinds {
			if is, err := users.InUse(c)(ctx, secret); is || err != nil {
				return is, err
			}
		}
		return false, nil
	}
}
