package machineapi

import (
	"fmt"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition types and reasons that OpenShift's controllers share and its API doesn't name.
const (
	// PausedCondition is true while another API than this one is responsible for the Machine.
	PausedCondition machinev1.ConditionType = "Paused"

	pausedReason    = "AuthoritativeAPINotMachineAPI"
	notPausedReason = "AuthoritativeAPIMachineAPI"
	drainingReason  = "Draining"
)

// setCondition puts a condition in the place of the one of its type. The time is that of the last turn of its status.
func setCondition(machine *machinev1.Machine, c machinev1.Condition) {
	c.LastTransitionTime = metav1.Now()
	if before := findCondition(machine, c.Type); before == nil {
		machine.Status.Conditions = append(machine.Status.Conditions, c)
	} else {
		if before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
		}
		*before = c
	}
}

func setTrue(machine *machinev1.Machine, kind machinev1.ConditionType, message string) {
	setCondition(machine, machinev1.Condition{Type: kind, Status: corev1.ConditionTrue, Message: message})
}

func setFalse(
	machine *machinev1.Machine, kind machinev1.ConditionType, severity machinev1.ConditionSeverity, reason, format string, args ...any,
) {
	setCondition(machine, machinev1.Condition{
		Type: kind, Status: corev1.ConditionFalse, Severity: severity, Reason: reason, Message: fmt.Sprintf(format, args...),
	})
}

// findCondition points into the Machine; nil if it has none of the type.
func findCondition(machine *machinev1.Machine, kind machinev1.ConditionType) *machinev1.Condition {
	for i := range machine.Status.Conditions {
		if machine.Status.Conditions[i].Type == kind {
			return &machine.Status.Conditions[i]
		}
	}
	return nil
}

func isTrue(machine *machinev1.Machine, kind machinev1.ConditionType) bool {
	c := findCondition(machine, kind)
	return c != nil && c.Status == corev1.ConditionTrue
}

// showHooks says which hooks will hold up a deletion.
func showHooks(machine *machinev1.Machine) {
	showHook(machine, machinev1.MachineDrainable, "drained", machine.Spec.LifecycleHooks.PreDrain)
	showHook(machine, machinev1.MachineTerminable, "terminated", machine.Spec.LifecycleHooks.PreTerminate)
}

func showHook(machine *machinev1.Machine, kind machinev1.ConditionType, step string, hooks []machinev1.LifecycleHook) {
	if len(hooks) == 0 {
		setTrue(machine, kind, "")
		return
	}
	var owners []string
	for _, hook := range hooks {
		owners = append(owners, fmt.Sprintf("%s of %s", hook.Name, hook.Owner))
	}
	setFalse(machine, kind, machinev1.ConditionSeverityWarning, machinev1.MachineHookPresent,
		"isn't %s before these hooks are removed: %s", step, strings.Join(owners, ", "))
}
