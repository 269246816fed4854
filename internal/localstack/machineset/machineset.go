// Package machineset stands for a controller that belongs to OpenShift: the one that keeps as many Machines as each MachineSet
// wants. A lab needs one to show what Bedplate does with the Machines.
package machineset

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const interval = 500 * time.Millisecond

// Run works on all MachineSets of a namespace until ctx ends.
func Run(ctx context.Context, c client.Client, namespace string, log *slog.Logger) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := syncAll(ctx, c, namespace); err != nil && ctx.Err() == nil {
			log.Warn("MachineSets", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func syncAll(ctx context.Context, c client.Client, namespace string) error {
	sets, machines := &machinev1.MachineSetList{}, &machinev1.MachineList{}
	if err := c.List(ctx, sets, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list MachineSets: %w", err)
	}
	if err := c.List(ctx, machines, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list Machines: %w", err)
	}
	var all error
	for i := range sets.Items {
		// The Machines of a MachineSet that is deleted are garbage: they have an owner that is gone.
		if set := &sets.Items[i]; set.DeletionTimestamp == nil {
			all = errors.Join(all, sync(ctx, c, set, machines.Items))
		}
	}
	return all
}

// sync makes as many Machines as are missing, or deletes as many as there are too many. The list has to be of this moment.
func sync(ctx context.Context, c client.Client, set *machinev1.MachineSet, machines []machinev1.Machine) error {
	var own []*machinev1.Machine
	for i := range machines {
		if metav1.IsControlledBy(&machines[i], set) && machines[i].DeletionTimestamp == nil {
			own = append(own, &machines[i])
		}
	}
	wanted := int(ptr.Deref(set.Spec.Replicas, 1))
	for range wanted - len(own) {
		if err := c.Create(ctx, machineOf(set)); err != nil {
			return fmt.Errorf("make a Machine of MachineSet %s: %w", set.Name, err)
		}
	}
	for _, machine := range own[min(wanted, len(own)):] {
		if err := c.Delete(ctx, machine); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete Machine %s: %w", machine.Name, err)
		}
	}
	return report(ctx, c, set, wanted)
}

func machineOf(set *machinev1.MachineSet) *machinev1.Machine {
	template := set.Spec.Template.DeepCopy()
	return &machinev1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, GenerateName: set.Name + "-", Labels: template.Labels, Annotations: template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, machinev1.GroupVersion.WithKind("MachineSet"))},
		},
		Spec: template.Spec,
	}
}

// report says how many Machines there are. None is ever ready here: that would take a Node.
func report(ctx context.Context, c client.Client, set *machinev1.MachineSet, replicas int) error {
	before := set.DeepCopy()
	set.Status.Replicas = int32(replicas) //nolint:gosec // it was an int32
	set.Status.ObservedGeneration = set.Generation
	if before.Status.Replicas == set.Status.Replicas && before.Status.ObservedGeneration == set.Status.ObservedGeneration {
		return nil
	}
	if err := c.Status().Patch(ctx, set, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("report the Machines of MachineSet %s: %w", set.Name, err)
	}
	return nil
}
