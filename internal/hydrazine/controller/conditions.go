package controller

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// Reasons of conditions. Those for which a host can't be a member are membership's.
const (
	reasonDone    = "AsWanted"
	reasonPending = "Pending"

	reasonCarriedByFabric = "CarriedByFabric"
	reasonCentralFailed   = "CentralFailed"
	reasonCentralStarting = "CentralStarting"
	reasonCentralEnding   = "CentralEnding"
	reasonRefilling       = "Refilling"
	reasonWriteFailed     = "WriteFailed"

	reasonSpreading = "Spreading"

	reasonUnreachable   = "AgentUnreachable"
	reasonNewer         = "AgentNewer"
	reasonOlder         = "AgentOlder"
	reasonInvalidReport = "InvalidAgentReport"
	reasonNoPort        = "NoPort"
	reasonUplink        = "WrongUplink"
	reasonUnproven      = "UnprovenAddress"
	reasonForeign       = "ForeignAddress"
	reasonReserved      = "ReservedAddress"
	reasonSwitchDown    = "SwitchDown"
	reasonSwitchAgain   = "SwitchRestarted"
	reasonNoCentral     = "CentralNotReady"
	reasonMoving        = "Moving"
	reasonRefusedBy     = "AgentRefused"
	reasonPortProblem   = "PortProblem"
	reasonNotUp         = "NotUp"

	reasonNoRelay      = "RelayNotReady"
	reasonRelayProblem = "RelayProblem"
	reasonRelayRefused = "DHCPServerRefused"

	reasonAvailable    = "Available"
	reasonAnnounced    = "Announced"
	reasonNotAnnounced = "NotAnnounced"
	reasonNotAttached  = "HostNotAttached"
	reasonWithdrawing  = "Withdrawing"
	reasonSameAddress  = "AddressTaken"
	reasonExhausted    = "PoolExhausted"

	reasonIsolating    = "Isolating"
	reasonIsolated     = "Isolated"
	reasonLeaseExpired = "LeaseExpired"
)

// conditioned is a ResourceGroup or a ManagedResource.
type conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
}

// maxMessage is how many bytes of a message fit into an event. An agent's text may be longer.
const maxMessage = 1024

func set(object conditioned, kind string, status metav1.ConditionStatus, reason, message string) {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage-len("…")], "") + "…"
	}
	conditions := object.GetConditions()
	meta.SetStatusCondition(&conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: object.GetGeneration(),
	})
	object.SetConditions(conditions)
}

func met(object conditioned, kind string) {
	set(object, kind, metav1.ConditionTrue, reasonDone, "")
}

func unmet(object conditioned, kind, reason, message string) {
	set(object, kind, metav1.ConditionFalse, reason, message)
}

func condition(object conditioned, kind string) *metav1.Condition {
	return meta.FindStatusCondition(object.GetConditions(), kind)
}

func drop(object conditioned, kinds ...string) {
	conditions := object.GetConditions()
	for _, kind := range kinds {
		meta.RemoveStatusCondition(&conditions, kind)
	}
	object.SetConditions(conditions)
}

// sumUp computes Ready from the others, in the order in which they are met.
func sumUp(object conditioned, kinds ...string) {
	var pending []string
	for _, kind := range kinds {
		switch c := condition(object, kind); {
		case c == nil:
			pending = append(pending, kind)
		case c.Status != metav1.ConditionTrue:
			set(object, resourcev1.ReadyCondition, c.Status, c.Reason, c.Message)
			return
		}
	}
	if len(pending) > 0 {
		set(object, resourcev1.ReadyCondition, metav1.ConditionUnknown, reasonPending, "conditions not reported yet: "+strings.Join(pending, ", "))
		return
	}
	met(object, resourcev1.ReadyCondition)
}

func isReady(object conditioned) bool {
	return meta.IsStatusConditionTrue(object.GetConditions(), resourcev1.ReadyCondition)
}
