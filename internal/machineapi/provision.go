package machineapi

import (
	"context"
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// provision brings a Machine towards Running.
func (r *Reconciler) provision(ctx context.Context, machine *machinev1.Machine) (ctrl.Result, error) {
	exists, err := r.exists(ctx, machine)
	switch {
	case err != nil:
		return outcome(err)
	case exists:
		return r.update(ctx, machine)
	case isProvisioned(machine):
		setFalse(machine, machinev1.InstanceExistsCondition, machinev1.ConditionSeverityWarning,
			machinev1.InstanceMissingReason, "the instance is gone; delete the Machine to get another one")
		r.fail(machine, nil, "can't find created instance")
		return ctrl.Result{}, nil
	default:
		return r.create(ctx, machine)
	}
}

func (r *Reconciler) create(ctx context.Context, machine *machinev1.Machine) (ctrl.Result, error) {
	setFalse(machine, machinev1.InstanceExistsCondition, machinev1.ConditionSeverityWarning,
		machinev1.InstanceNotCreatedReason, "the instance has not been created yet")
	setPhase(machine, machinev1.PhaseProvisioning)
	err := r.Actuator.Create(ctx, machine)
	if IsInvalidConfiguration(err) {
		r.fail(machine, ptr.To(machinev1.InvalidConfigurationMachineError), err.Error())
		return ctrl.Result{}, nil
	}
	if err == nil {
		return ctrl.Result{RequeueAfter: r.Poll}, nil // to see whether it exists now
	}
	return outcome(err)
}

// update keeps the phase of a Machine whose instance can't be brought up to date: it exists nevertheless.
func (r *Reconciler) update(ctx context.Context, machine *machinev1.Machine) (ctrl.Result, error) {
	setTrue(machine, machinev1.InstanceExistsCondition, "")
	result, err := outcome(r.Actuator.Update(ctx, machine))
	switch {
	case err != nil:
		return result, err
	case !isProvisioned(machine):
		setPhase(machine, machinev1.PhaseProvisioning)
	case machine.Status.NodeRef == nil:
		setPhase(machine, machinev1.PhaseProvisioned)
	default:
		setPhase(machine, machinev1.PhaseRunning)
	}
	return result, nil
}

// exists asks whether there is an instance. Not to know that is a state of its own.
func (r *Reconciler) exists(ctx context.Context, machine *machinev1.Machine) (bool, error) {
	exists, err := r.Actuator.Exists(ctx, machine)
	if err != nil {
		setCondition(machine, machinev1.Condition{
			Type: machinev1.InstanceExistsCondition, Status: corev1.ConditionUnknown, Reason: machinev1.ErrorCheckingProviderReason,
			Message: "it isn't known whether the instance exists: " + err.Error(),
		})
		return false, fmt.Errorf("check whether the instance exists: %w", err)
	}
	return exists, nil
}

// fail is final: the Machine can only be deleted.
func (r *Reconciler) fail(machine *machinev1.Machine, reason *machinev1.MachineStatusError, message string) {
	machine.Status.Phase = ptr.To(machinev1.PhaseFailed)
	machine.Status.ErrorReason, machine.Status.ErrorMessage = reason, &message
	metav1.SetMetaDataAnnotation(&machine.ObjectMeta, InstanceStateAnnotation, "Unknown")
	r.warn(machine, "Failed", message)
}

// setPhase of a Machine that is well.
func setPhase(machine *machinev1.Machine, phase string) {
	machine.Status.Phase = &phase
	machine.Status.ErrorReason, machine.Status.ErrorMessage = nil, nil
}

// isProvisioned is true when a Machine has got an instance.
func isProvisioned(machine *machinev1.Machine) bool {
	return ptr.Deref(machine.Spec.ProviderID, "") != "" || len(machine.Status.Addresses) > 0
}
