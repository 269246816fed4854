package actuator

import (
	"context"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/machineapi"
)

// Health is what a Machine or its Node says. A MachineHealthCheck leaves no record: it deletes Machines whose Nodes aren't
// ready, and those that are Failed.
func (n *node) Health(ctx context.Context) (instance.Health, error) {
	m := n.owner.Machine
	health := instance.Health{Object: m}
	if failed(m) {
		health.Found, health.Details = "the Machine is Failed", ptr.Deref(m.Status.ErrorMessage, "")
		return health, nil
	}
	joined, err := machineapi.NodeOf(ctx, n.actuator.Engine.Live, m)
	if err != nil {
		return health, err
	}
	if c := notReady(joined); c != nil {
		health.Found, health.Details = "the Node isn't ready: "+c.Reason, c.Message
	}
	return health, nil
}

// failed reports whether a Machine had failed before it was deleted. A spec that can't be fulfilled isn't the hardware's
// fault.
func failed(m *machinev1.Machine) bool {
	if ptr.Deref(m.Status.ErrorReason, "") == machinev1.InvalidConfigurationMachineError {
		return false
	}
	return ptr.Deref(m.Status.Phase, "") == machinev1.PhaseFailed || m.Status.ErrorReason != nil || m.Status.ErrorMessage != nil
}

// notReady is the Ready condition of a Node that isn't ready; nil for a Node that is ready, that never reported, or
// that doesn't exist.
func notReady(joined *corev1.Node) *corev1.NodeCondition {
	if joined == nil {
		return nil
	}
	for i := range joined.Status.Conditions {
		if c := &joined.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
