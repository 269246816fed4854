package lab

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/localstack"
	"github.com/bedplate/bedplate/internal/localstack/machineset"
)

// MachinesExample is the example whose management cluster is one of OpenShift's, with Machines of its own.
const MachinesExample = "openshift-machines"

// instanceState is the annotation of a Machine that OpenShift's console shows.
const instanceState = "machine.openshift.io/instance-state"

// startMachines applies the example and waits until the instances of its Machines are ready. What stands for OpenShift's MachineSet
// controller continues until the lab ends.
func (r *run) startMachines(ctx, life context.Context, stack *localstack.Stack) (*Lab, error) {
	bmm, err := stack.StartMachineAPI(ctx)
	if err != nil {
		return nil, err
	}
	variables := bmm.Variables()
	variables["CLUSTER_NAME"] = exampleName
	variables["NAMESPACE"] = localstack.MachineNamespace
	variables["WORKER_MACHINE_COUNT"] = strconv.Itoa(r.options.Workers)
	yaml, err := examples.Render(r.options.Example, variables)
	if err != nil {
		return nil, err
	}
	if err := stack.Apply(ctx, yaml); err != nil {
		return nil, fmt.Errorf("example %s: %w", r.options.Example, err)
	}
	go machineset.Run(life, stack.Client(), localstack.MachineNamespace, r.log.With(slog.String("standsFor", "OpenShift")))
	if err := r.wait(ctx, "Machines", func(ctx context.Context) (string, error) {
		return unprovisionedMachine(ctx, stack.Client())
	}); err != nil {
		return nil, err
	}
	lab := r.lab(stack)
	lab.Simulator = bmm.URL
	lab.MachineNamespace = localstack.MachineNamespace
	return lab, nil
}

// unprovisionedMachine returns what the first Machine waits for whose instance isn't ready yet, or "".
func unprovisionedMachine(ctx context.Context, c client.Client) (string, error) {
	sets, machines := &machinev1.MachineSetList{}, &machinev1.MachineList{}
	if err := c.List(ctx, sets, client.InNamespace(localstack.MachineNamespace)); err != nil {
		return "", err
	}
	if err := c.List(ctx, machines, client.InNamespace(localstack.MachineNamespace)); err != nil {
		return "", err
	}
	for _, set := range sets.Items {
		if set.Status.ObservedGeneration < set.Generation || set.Status.Replicas < ptr.Deref(set.Spec.Replicas, 1) {
			return "MachineSet " + set.Name + " has not all its Machines yet", nil
		}
	}
	for _, machine := range machines.Items {
		phase := ptr.Deref(machine.Status.Phase, "New")
		if phase != machinev1.PhaseProvisioned && phase != machinev1.PhaseRunning {
			return strings.TrimSpace(machine.Name + ": " + phase + " " + ptr.Deref(machine.Status.ErrorMessage, "")), nil
		}
		if state := machine.Annotations[instanceState]; state != "Ready" {
			return machine.Name + ": the instance is " + state, nil
		}
	}
	return "", nil
}
