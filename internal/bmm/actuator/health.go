package actuator

import (
	"context"
	"fmt"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/instance"
)

// healthIssue is nil for a Machine that goes because it isn't needed any more. A MachineHealthCheck leaves no word: it
// deletes Machines whose Nodes aren't ready, and those that are Failed.
func (a *Actuator) healthIssue(ctx context.Context, m *machinev1.Machine) (*bmm.MachineHealthIssue, error) {
	category, written := m.Annotations[infrav1.HealthIssueAnnotation]
	if failed(m) {
		return instance.HealthIssue(category, "the Machine is Failed", ptr.Deref(m.Status.ErrorMessage, "")), nil
	}
	notReady, err := a.notReady(ctx, m)
	if err != nil {
		return nil, err
	}
	switch {
	case notReady != nil:
		return instance.HealthIssue(category, "the Node isn't ready: "+notReady.Reason, notReady.Message), nil
	case written:
		return instance.HealthIssue(category, fmt.Sprintf("reported with the annotation %s", infrav1.HealthIssueAnnotation), ""), nil
	}
	return nil, nil
}

// failed goes by what a Machine has been before it was deleted. A spec that can't be fulfilled isn't the hardware's fault.
func failed(m *machinev1.Machine) bool {
	if ptr.Deref(m.Status.ErrorReason, "") == machinev1.InvalidConfigurationMachineError {
		return false
	}
	return ptr.Deref(m.Status.Phase, "") == machinev1.PhaseFailed || m.Status.ErrorReason != nil || m.Status.ErrorMessage != nil
}

// notReady is the condition of the Machine's Node that says so; nil for a Node that is ready, that never told, or that isn't
// there.
func (a *Actuator) notReady(ctx context.Context, m *machinev1.Machine) (*corev1.NodeCondition, error) {
	if m.Status.NodeRef == nil {
		return nil, nil
	}
	n := &corev1.Node{}
	if err := a.Engine.Live.Get(ctx, client.ObjectKey{Name: m.Status.NodeRef.Name}, n); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return &c, nil
		}
	}
	return nil, nil
}
