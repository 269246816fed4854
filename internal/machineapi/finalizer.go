package machineapi

import (
	"context"
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/bedplate/bedplate/internal/graph"
)

// hold puts the finalizer on a Machine, before anything is made for it.
func (r *Reconciler) hold(ctx context.Context, machine *machinev1.Machine) error {
	before := machine.DeepCopy()
	if !controllerutil.AddFinalizer(machine, machinev1.MachineFinalizer) {
		return nil
	}
	return r.patchFinalizers(ctx, before, machine, "add the finalizer")
}

// release takes the finalizer off a Machine whose instance is gone. The lock makes sure that nothing was begun meanwhile.
func (r *Reconciler) release(ctx context.Context, machine *machinev1.Machine) error {
	before := machine.DeepCopy()
	controllerutil.RemoveFinalizer(machine, machinev1.MachineFinalizer)
	err := r.patchFinalizers(ctx, before, machine, "remove the finalizer")
	if err == nil {
		graph.Released(machine)
	}
	return client.IgnoreNotFound(err)
}

func (r *Reconciler) patchFinalizers(ctx context.Context, before, machine *machinev1.Machine, doing string) error {
	answer := machine.DeepCopy() // the server's answer would overwrite the status that is being built in memory
	lock := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, answer, lock); err != nil {
		machine.Finalizers = before.Finalizers
		return fmt.Errorf("%s: %w", doing, err)
	}
	machine.ResourceVersion = answer.ResourceVersion
	return nil
}
