package machineapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/kubectl/pkg/drain"
	ctrl "sigs.k8s.io/controller-runtime"
)

// ExcludeNodeDrainingAnnotation of a Machine: its Node isn't drained before its instance is deleted.
const ExcludeNodeDrainingAnnotation = "machine.openshift.io/exclude-node-draining"

const (
	// drainPoll is how often the Pods of a Node that is being drained are listed. To watch all Pods of a cluster for the
	// few Nodes that are drained would cost more.
	drainPoll = 5 * time.Second
	// drainPatience is the longest pause between two evictions that are refused: a budget may allow none for days.
	drainPatience = 1000 * time.Second
	// drainTimeout bounds one round of evictions.
	drainTimeout = 20 * time.Second
	// maxNamed is how many Pods a condition names.
	maxNamed = 5
)

// drain empties the Machine's Node as far as possible now, and reports whether that is done. Each round requests evictions
// and waits for none of them, so it blocks no worker and needs no controller of its own.
func (r *Reconciler) drain(ctx context.Context, machine *machinev1.Machine) (done bool, _ ctrl.Result, _ error) {
	if isTrue(machine, machinev1.MachineDrained) {
		return true, ctrl.Result{}, nil
	}
	if _, excluded := machine.Annotations[ExcludeNodeDrainingAnnotation]; excluded || machine.Status.NodeRef == nil {
		setTrue(machine, machinev1.MachineDrained, "Node drain skipped")
		return true, ctrl.Result{}, nil
	}
	if len(machine.Spec.LifecycleHooks.PreDrain) > 0 {
		return false, ctrl.Result{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	left, err := r.empty(ctx, machine)
	pause := min(r.Poll, drainPoll)
	switch {
	case err != nil:
		setFalse(machine, machinev1.MachineDrained, machinev1.ConditionSeverityWarning, machinev1.MachineDrainError, "%s", err)
		return false, ctrl.Result{}, err
	case len(left.refused) > 0:
		setFalse(machine, machinev1.MachineDrained, machinev1.ConditionSeverityWarning, machinev1.MachineDrainError, "%s", left)
		// Twice the one before, as of a queue that backs off, but without state.
		pause = min(pause+time.Since(findCondition(machine, machinev1.MachineDrained).LastTransitionTime.Time), drainPatience)
	case len(left.leaving) > 0:
		setFalse(machine, machinev1.MachineDrained, machinev1.ConditionSeverityInfo, drainingReason, "%s", left)
	default:
		setTrue(machine, machinev1.MachineDrained, "Drain finished successfully")
		return true, ctrl.Result{}, nil
	}
	return false, ctrl.Result{RequeueAfter: pause}, nil
}

// leftovers keep a Node from being empty.
type leftovers struct {
	// leaving are Pods that have been evicted.
	leaving []string
	// refused are Pods that must not be evicted now, or another Node that has to go first, each with the reason.
	refused []string
}

func (l leftovers) String() string {
	var parts []string
	if len(l.refused) > 0 {
		parts = append(parts, strings.Join(some(l.refused), "; "))
	}
	if len(l.leaving) > 0 {
		parts = append(parts, "waits for Pods to end: "+strings.Join(some(l.leaving), ", "))
	}
	return strings.Join(parts, "; ")
}

func some(names []string) []string {
	if len(names) <= maxNamed {
		return names
	}
	return append(names[:maxNamed:maxNamed], fmt.Sprintf("and %d more", len(names)-maxNamed))
}

// empty cordons the Machine's Node, if it still exists, and evicts its Pods, once each.
func (r *Reconciler) empty(ctx context.Context, machine *machinev1.Machine) (left leftovers, err error) {
	node, err := NodeOf(ctx, r.Live, machine)
	if node == nil || err != nil {
		return left, err
	}
	helper := r.helper(ctx, node)
	first, err := r.cordon(ctx, helper, node)
	if err != nil {
		return left, err
	}
	if first != "" {
		left.refused = []string{fmt.Sprintf("waits until Node %s, which is cordoned, is gone: control plane Nodes go one by one", first)}
		return left, nil
	}
	pods, errs := helper.GetPodsForDeletion(node.Name)
	if len(errs) > 0 {
		return left, fmt.Errorf("list the Pods of Node %s: %w", node.Name, errors.Join(errs...))
	}
	for _, pod := range pods.Pods() {
		name := pod.Namespace + "/" + pod.Name
		if pod.DeletionTimestamp != nil && !isUnreachable(node) { // where no kubelet ends it, its grace period is cut short
			left.leaving = append(left.leaving, name)
			continue
		}
		err := helper.EvictPod(pod, policyv1.SchemeGroupVersion)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			left.refused = append(left.refused, fmt.Sprintf("Pod %s can't be evicted: %s", name, err))
		default:
			left.leaving = append(left.leaving, name)
		}
	}
	return left, nil
}

// helper knows which Pods have to go, and how.
func (r *Reconciler) helper(ctx context.Context, node *corev1.Node) *drain.Helper {
	helper := &drain.Helper{
		Ctx: ctx, Client: r.Kube, Force: true, IgnoreAllDaemonSets: true, DeleteEmptyDirData: true, GracePeriodSeconds: -1,
	}
	if isUnreachable(node) {
		// No kubelet there ends Pods or reports their end, so those that are being deleted don't count.
		helper.GracePeriodSeconds, helper.SkipWaitForDeleteTimeoutSeconds = 1, 1
	}
	return helper
}

// cordon keeps new Pods off a Node. Of the control plane Nodes one has to be gone before the next: then nothing is done, and
// first is the name of that one.
func (r *Reconciler) cordon(ctx context.Context, helper *drain.Helper, node *corev1.Node) (first string, err error) {
	if isControlPlane(node) && !node.Spec.Unschedulable {
		r.cordoning.Lock()
		defer r.cordoning.Unlock()
		nodes := &corev1.NodeList{}
		if err := r.Live.List(ctx, nodes); err != nil {
			return "", fmt.Errorf("list control plane Nodes: %w", err)
		}
		for i := range nodes.Items {
			if other := &nodes.Items[i]; isControlPlane(other) && other.Spec.Unschedulable {
				return other.Name, nil
			}
		}
	}
	if err := drain.RunCordonOrUncordon(helper, node, true); err != nil {
		return "", fmt.Errorf("cordon Node %s: %w", node.Name, err)
	}
	return "", nil
}

func isControlPlane(node *corev1.Node) bool {
	_, controlPlane := node.Labels["node-role.kubernetes.io/control-plane"]
	_, master := node.Labels["node-role.kubernetes.io/master"]
	return controlPlane || master
}

// isUnreachable is true when the Node's kubelet is silent.
func isUnreachable(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown
		}
	}
	return false
}
