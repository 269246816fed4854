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
)

// delete brings a Machine towards its end: its Node is drained, its instance goes, then its Node, then its finalizer. Hooks
// hold it up, readiness never does.
func (r *Reconciler) delete(ctx context.Context, machine *machinev1.Machine) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(machine, machinev1.MachineFinalizer) {
		return ctrl.Result{}, nil
	}
	machine.Status.Phase = ptr.To(machinev1.PhaseDeleting) // why it was Failed still stands in the status
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
	return ctrl.Result{}, r.release(ctx, machine)
}

// deleteNode deletes the Machine's Node, but not one that another instance has registered under the same name meanwhile.
func (r *Reconciler) deleteNode(ctx context.Context, machine *machinev1.Machine) error {
	node, err := r.node(ctx, machine)
	if err != nil || node == nil {
		return err
	}
	mine := ptr.Deref(machine.Spec.ProviderID, "")
	if mine != "" && node.Spec.ProviderID != "" && node.Spec.ProviderID != mine {
		return nil
	}
	this := client.Preconditions{UID: &node.UID}
	if err := client.IgnoreNotFound(r.Delete(ctx, node, this)); err != nil {
		return fmt.Errorf("delete Node %s: %w", node.Name, err)
	}
	return nil
}

// node of a Machine; nil where it has none, or none any more.
func (r *Reconciler) node(ctx context.Context, machine *machinev1.Machine) (*corev1.Node, error) {
	if machine.Status.NodeRef == nil {
		return nil, nil
	}
	node := &corev1.Node{}
	err := r.Live.Get(ctx, client.ObjectKey{Name: machine.Status.NodeRef.Name}, node)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get Node %s: %w", machine.Status.NodeRef.Name, err)
	default:
		return node, nil
	}
}
