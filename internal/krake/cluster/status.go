package cluster

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/krake/tosca"
)

// project shows in the status what the ledger has, and what was seen outside.
func (n *node) project() {
	status := &n.object.Status
	status.ClusterID, status.RunningOn = n.made.ID(), nil
	if status.ClusterID != "" {
		if on, known := cloudOf(map[string]string{cloudParam: n.graph.Param(infrastructureKey, cloudParam)}); known {
			status.RunningOn = &on
		}
	}
	seen := n.made.Object()
	switch {
	case status.ClusterID == "":
		status.VMs, status.Log = nil, nil
	case seen != nil && seen.State != "": // it was looked at closely
		status.VMs, status.Log = vmsOf(seen.VMs), seen.log
	}
	if seen == nil || n.template == nil {
		return
	}
	if applied := seen.applied.Mark().Hash; applied == n.template.Hash() {
		status.LastAppliedTOSCA, status.LastAppliedTOSCAHash = n.object.Spec.TOSCA, applied
	}
	n.sayWhatStays(seen)
}

// sayWhatStays adds to the condition which node templates are still there, because the manager ignores that they were removed.
func (n *node) sayWhatStays(seen *infrastructure) {
	ready := meta.FindStatusCondition(n.object.Status.Conditions, krakev1.InfrastructureReadyCondition)
	stays := tosca.Removed(seen.applied, n.template)
	if len(stays) == 0 || ready == nil || ready.Status != metav1.ConditionTrue {
		return
	}
	ready.Message = graph.Message(fmt.Sprintf("node template %s isn't in spec.tosca any more, and stays: the infrastructure manager ignores that. To be rid of its "+
		"machines, put it back with count 0 of its capability scalable", strings.Join(stays, ", ")))
}

// kubeconfigManager is the field manager of spec.kubeconfig, so that whoever applies the rest of the spec leaves it alone.
const kubeconfigManager = "bedplate-krake-kubeconfig"

// refer to the Secret with the kubeconfig in the spec.
func (n *node) refer(ctx context.Context) error {
	secret := n.object.Name + "-kubeconfig"
	if k := n.object.Spec.Kubeconfig; k != nil && k.SecretRef.Name == secret {
		return nil
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"kubeconfig": map[string]any{"secretRef": map[string]any{"name": secret}}},
	}}
	wanted.SetGroupVersionKind(krakev1.GroupVersion.WithKind("Cluster"))
	wanted.SetNamespace(n.object.Namespace)
	wanted.SetName(n.object.Name)
	wanted.SetResourceVersion(n.object.ResourceVersion)
	err := n.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner(kubeconfigManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("set spec.kubeconfig: %w", err)
	}
	n.object.SetResourceVersion(wanted.GetResourceVersion())
	return nil
}

// online is a part of Ready: as the observer sees the cluster, it is ONLINE.
func (n *node) online() phases.Phase {
	status := &n.object.Status
	if status.State == krakev1.StateOnline {
		return phases.Ready()
	}
	for _, kind := range []string{krakev1.ReachableCondition, krakev1.NodesHealthyCondition} {
		seen := meta.FindStatusCondition(status.Conditions, kind)
		if observed[status.State] && status.State != krakev1.StateConnecting && seen != nil && seen.Status != metav1.ConditionTrue {
			return phases.Waiting("%s", seen.Message).Because(seen.Reason).Announced()
		}
	}
	return phases.Waiting("the cluster is made, and hasn't answered yet").Because("Connecting").Announced()
}

// show the state that follows from the conditions.
func show(object *krakev1.Cluster) {
	object.Status.State, object.Status.Reason = stateOf(object)
}

// observed are the states that the observer writes, and the one that it begins with.
var observed = map[krakev1.ClusterState]bool{
	krakev1.StateConnecting: true, krakev1.StateOnline: true, krakev1.StateNotReady: true, krakev1.StateUnhealthy: true,
	krakev1.StateDegraded: true, krakev1.StateOffline: true,
}

// stateOf a Cluster and the reason of it, as far as something has failed. The observer's states are left to it as long as the
// infrastructure is as it should be, or isn't known.
func stateOf(object *krakev1.Cluster) (krakev1.ClusterState, *krakev1.Reason) {
	status := &object.Status
	find := func(kind string) metav1.Condition {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			return *c
		}
		return metav1.Condition{Type: kind}
	}
	template, made := find(krakev1.TemplateValidCondition), find(krakev1.InfrastructureReadyCondition)
	kubeconfig := find(krakev1.KubeconfigReadyCondition)
	work, failed := krakev1.StateCreating, krakev1.ReasonCreateFailed
	if object.Spec.Kubeconfig != nil {
		work, failed = krakev1.StateReconciling, krakev1.ReasonReconcileFailed
	}
	switch {
	case !object.DeletionTimestamp.IsZero() && made.Reason == "StayingAway": // it is gone, and has to stay so
		return krakev1.StateDeleting, nil
	case !object.DeletionTimestamp.IsZero():
		return krakev1.StateDeleting, because(krakev1.ReasonDeleteFailed, made)
	case template.Reason == string(fault.Invalid):
		return krakev1.StateFailed, because(krakev1.ReasonInvalidResource, template)
	case wrong[template.Reason]:
		return krakev1.StateFailed, because(failed, template)
	case made.Status == metav1.ConditionTrue && kubeconfig.Status == metav1.ConditionTrue:
		if observed[status.State] {
			return status.State, status.Reason
		}
		return krakev1.StateConnecting, nil
	case made.Status == metav1.ConditionTrue && kubeconfig.Status == metav1.ConditionUnknown && observed[status.State]:
		return status.State, status.Reason
	case made.Status == metav1.ConditionTrue && wrong[kubeconfig.Reason]:
		return krakev1.StateFailed, because(krakev1.ReasonRetrieveFailed, kubeconfig)
	case made.Status == metav1.ConditionTrue:
		return work, because(krakev1.ReasonRetrieveFailed, kubeconfig)
	case made.Reason == string(phases.StateFailed):
		return krakev1.StateFailed, because(krakev1.ReasonReconfigureFailed, made)
	case wrong[made.Reason]:
		return krakev1.StateFailed, because(failed, made)
	case made.Reason == "Repairing":
		return krakev1.StateFailingReconciliation, because(failed, made)
	case made.Reason == "StayingAway":
		return krakev1.StatePending, because(krakev1.ReasonNotFound, made)
	case template.Status == metav1.ConditionUnknown: // the manager couldn't be asked
		return stays(status, work), because(failed, template)
	case made.Status == metav1.ConditionFalse && (status.ClusterID != "" || made.Reason == "Creating" || made.Reason == "Settling"):
		return work, because(failed, made)
	}
	return stays(status, work), because(failed, made)
}

// stays is the state of a Cluster of which nothing new is known. It isn't FAILED any more: no person has to correct anything.
func stays(status *krakev1.ClusterStatus, work krakev1.ClusterState) krakev1.ClusterState {
	switch {
	case status.State != krakev1.StateFailed && status.State != "":
		return status.State
	case status.ClusterID == "":
		return krakev1.StatePending
	}
	return work
}

func because(code krakev1.ReasonCode, of metav1.Condition) *krakev1.Reason {
	if progress[of.Reason] {
		return nil
	}
	return &krakev1.Reason{Code: code, Message: of.Message}
}

// progress are the reasons of what goes on by itself: nothing has failed.
var progress = map[string]bool{
	"": true, "Ready": true, "Waiting": true, "Queued": true, "Creating": true, "Settling": true, "Changing": true, "Busy": true,
	"Deleting": true,
}

// wrong are the reasons that a person has to correct.
var wrong = map[string]bool{
	"Invalid": true, "Conflict": true, "Credentials": true, "ClaimChanged": true, "ForeignTag": true, "Unproven": true, "Ambiguous": true,
}
