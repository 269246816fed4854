package observer

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/graph"
)

// reasons of the conditions and of the events, by the state.
var reasons = map[krakev1.ClusterState]string{
	krakev1.StateConnecting: "Connecting",
	krakev1.StateOnline:     "Online",
	krakev1.StateNotReady:   "NodesNotReady",
	krakev1.StateUnhealthy:  "NodesUnhealthy",
	krakev1.StateDegraded:   "Degraded",
	krakev1.StateOffline:    "Offline",
	krakev1.StateFailed:     "KubeconfigInvalid",
}

// show in a Cluster what counts. Of a registered one that is all there is to know; of others the rest is shown by who makes them.
func show(c *krakev1.Cluster, state krakev1.ClusterState, seen sight) {
	reason := reasons[state]
	c.Status.State, c.Status.Reason = state, nil
	if seen.nodes == nil {
		code := krakev1.ReasonRetrieveFailed
		if seen.state == krakev1.StateFailed {
			code = krakev1.ReasonInvalidResource
		}
		c.Status.Reason = &krakev1.Reason{Code: code, Message: graph.Message(seen.problem)}
		set(c, krakev1.ReachableCondition, metav1.ConditionFalse, reason, seen.problem)
		set(c, krakev1.NodesHealthyCondition, metav1.ConditionUnknown, reason, seen.problem)
	} else {
		c.Status.Nodes = seen.nodes.shown()
		set(c, krakev1.ReachableCondition, metav1.ConditionTrue, reason, "")
		set(c, krakev1.NodesHealthyCondition, trueIf(seen.problem == ""), reason, seen.problem)
	}
	if isRegistered(c) {
		usable, says := seen.state != krakev1.StateFailed, ""
		if !usable {
			says = seen.problem
		}
		set(c, krakev1.KubeconfigReadyCondition, trueIf(usable), reason, says)
		set(c, krakev1.ReadyCondition, trueIf(state == krakev1.StateOnline), reason, seen.problem)
	}
}

func trueIf(is bool) metav1.ConditionStatus {
	if is {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// tell of another state than before.
func (o *clusters) tell(ctx context.Context, before, now *krakev1.Cluster, seen sight) {
	state := now.Status.State
	if state == before.Status.State || state == krakev1.StateConnecting {
		return
	}
	if state == krakev1.StateOnline {
		o.events.Eventf(now, nil, corev1.EventTypeNormal, reasons[state], "Observe", "The cluster answers, and all of its nodes are ready")
		return
	}
	ctrl.LoggerFrom(ctx).Info("The cluster isn't well", "state", state, "cause", seen.cause)
	o.events.Eventf(now, nil, corev1.EventTypeWarning, reasons[state], "Observe", "%s: %s", state, cutTo(seen.problem, maxNote))
}
