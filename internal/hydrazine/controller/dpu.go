package controller

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
)

// maxAddresses limits the addresses in a status.
const maxAddresses = 64

// learn the DPU's own addresses, whatever happens to the host. All hosts are kept from those that its certificate proves, and the hosts
// behind it from those that its agent only reports: so a malicious DPU harms no other host. It returns the latter.
func (r *resourceReconciler) learn(
	ctx context.Context, resource *resourcev1.ManagedResource, report agents.Report,
) (unproven []netip.Addr, err error) {
	policy, err := overlay.Policy(ctx, r)
	if err != nil {
		return nil, err
	}
	proven := report.Addresses()
	unproven = slices.DeleteFunc(report.Unproven(), func(a netip.Addr) bool { return overlay.IsDPUs(policy, a) })
	resource.Status.DPUAddresses = texts(proven[:min(len(proven), maxAddresses)])
	resource.Status.UnprovenDPUAddresses = texts(unproven[:min(len(unproven), maxAddresses)])
	return unproven, nil
}

// forgetDPU forgets the addresses of a DPU that the host has left for another one: otherwise the new one would count as the same
// DPU, and until it reports, no other host could use the old one.
func forgetDPU(resource *resourcev1.ManagedResource) {
	if all := resource.Status.DPUAddresses; len(all) > 0 && !slices.Contains(all, place(resource)) {
		resource.Status.DPUAddresses, resource.Status.UnprovenDPUAddresses = nil, nil
	}
}

// remember the report of a DPU whose host isn't to be on a network, if there is one.
func (r *resourceReconciler) remember(ctx context.Context, resource *resourcev1.ManagedResource) error {
	report, known := r.agents.Known(string(resource.Spec.DPUIPs[0]))
	if !known {
		return nil
	}
	_, err := r.learn(ctx, resource, report)
	return err
}

// heard records that the agent is usable, and which of its DPU's addresses the operator has to prove.
func (r *resourceReconciler) heard(resource *resourcev1.ManagedResource, unproven []netip.Addr) {
	if len(unproven) == 0 {
		met(resource, resourcev1.AgentReadyCondition)
		return
	}
	guarded := fmt.Sprint(resource.Status.UnprovenDPUAddresses)
	if more := len(unproven) - maxAddresses; more > 0 {
		guarded += fmt.Sprintf(" (and %d more, from which no host is blocked)", more)
	}
	set(resource, resourcev1.AgentReadyCondition, metav1.ConditionTrue, reasonUnproven, fmt.Sprintf("the agent of DPU %s reports %s as the DPU's own addresses, but its certificate doesn't name them, "+
		"so only the hosts behind this DPU are blocked from them: if they are the DPU's, add them to its certificate, or to dpuPrefixes of the FabricPolicy",
		resource.Spec.DPUIPs[0], guarded))
}

// warn in AgentReady of a problem that doesn't stop the host, and by an event when it is new.
func (r *resourceReconciler) warn(resource *resourcev1.ManagedResource, reason, message string) {
	before := condition(resource, resourcev1.AgentReadyCondition)
	if before == nil || before.Reason != reason || before.Message != message {
		r.events.Eventf(resource, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", message)
	}
	set(resource, resourcev1.AgentReadyCondition, metav1.ConditionTrue, reason, message)
}
