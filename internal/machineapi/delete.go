package machineapi

import (
	"context"
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/bedplate/bedplate/internal/ledgers"
)

// delete continues the deletion of a Machine: its Node is drained, its instance is deleted, then its Node, then its
// finalizer. Hooks hold it up, readiness never does.
func (r *Reconciler) delete(ctx context.Context, machine *machinev1.Machine) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(machine, machinev1.MachineFinalizer) {
		return ctrl.Result{}, nil
	}
	machine.Status.Phase = ptr.To(machinev1.PhaseDeleting) // status still says why it was Failed
	showHooks(machine)
	if done, result, err := r.drain(ctx, machine); !done || err != nil {
		return result, err
	}
	if len(machine.Spec.LifecycleHooks.PreTerminate) > 0 {
		return ctrl.Result{}, nil
	}
	if err := r.Actuator.Delete(ctx, machine); err != nil {
		return outcome(err)
	}
	exists, err := r.exists(ctx, machine)
	if err != nil {
		return outcome(err)
	}
	if exists {
		setTrue(machine, machinev1.InstanceExistsCondition, "")
		return ctrl.Result{RequeueAfter: r.Poll}, nil
	}
	if err := r.deleteNode(ctx, machine); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, ledgers.Release(ctx, r.Client, machine, machinev1.MachineFinalizer)
}

func (r *Reconciler) deleteNode(ctx context.Context, machine *machinev1.Machine) error {
	node, err := NodeOf(ctx, r.Live, machine)
	if err != nil || node == nil {
		return err
	}
	this := client.Preconditions{UID: &node.UID}
	if err := client.IgnoreNotFound(r.Delete(ctx, node, this)); err != nil {
		return fmt.Errorf("delete Node %s: %w", node.Name, err)
	}
	return nil
}

// NodeOf a Machine; nil if it has none, or none any more. Another instance may have registered a Node under the same name
// meanwhile: that one isn't the Machine's.
func NodeOf(ctx context.Context, live client.Reader, machine *machinev1.Machine) (*corev1.Node, error) {
	if machine.Status.NodeRef == nil {
		return nil, nil
	}
	node := &corev1.Node{}
	if err := live.Get(ctx, client.ObjectKey{Name: machine.Status.NodeRef.Name}, node); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("get Node %s: %w", machine.Status.NodeRef.Name, err)
	}
	mine := ptr.Deref(machine.Spec.ProviderID, "")
	if mine != "" && node.Spec.ProviderID != "" && node.Spec.ProviderID != mine {
		return nil, nil
	}
	return node, nil
}
