package controller

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
)

// maxAddresses are in a status at most.
const maxAddresses = 64

// learn which addresses a DPU has itself, whatever becomes of the host: as soon as its agent is heard, hosts are kept from them. From
// those that are proven, all hosts; from those that it merely says, the hosts behind it, which are all that it can harm by a lie. It
// returns these.
func (r *resourceReconciler) learn(
	ctx context.Context, resource *resourcev1.ManagedResource, report agents.Report,
) (unproven []netip.Addr, err error) {
	policy, err := fabricPolicy(ctx, r)
	if err != nil {
		return nil, err
	}
	proven := report.Addresses()
	unproven = slices.DeleteFunc(report.Unproven(), func(a netip.Addr) bool { return overlay.IsDPUs(policy, a) })
	resource.Status.DPUAddresses = texts(proven[:min(len(proven), maxAddresses)])
	resource.Status.UnprovenDPUAddresses = texts(unproven[:min(len(unproven), maxAddresses)])
	return unproven, nil
}

// remember what a DPU says whose host isn't to be on a network, if it says anything.
func (r *resourceReconciler) remember(ctx context.Context, resource *resourcev1.ManagedResource) error {
	report, known := r.agents.Known(string(resource.Spec.DPUIPs[0]))
	if !known {
		return nil
	}
	_, err := r.learn(ctx, resource, report)
	return err
}

// heard of an agent: it can be worked with. The operator has to look at what it says of its addresses without a proof.
func (r *resourceReconciler) heard(resource *resourcev1.ManagedResource, unproven []netip.Addr) {
	if len(unproven) == 0 {
		met(resource, resourcev1.AgentReadyCondition)
		return
	}
	guarded := fmt.Sprint(resource.Status.UnprovenDPUAddresses)
	if more := len(unproven) - maxAddresses; more > 0 {
		guarded += fmt.Sprintf(" (and %d more, from which no host is kept)", more)
	}
	set(resource, resourcev1.AgentReadyCondition, metav1.ConditionTrue, reasonUnproven, fmt.Sprintf("DPU %s says that it has %s itself, "+
		"and only the hosts behind it are kept from that: if it is so, add the addresses to its certificate, or to dpuPrefixes of the FabricPolicy",
		resource.Spec.DPUIPs[0], guarded))
}

// switchMemory is for how long a condition says that ovs-vswitchd was started again.
const switchMemory = time.Hour

// switched says whether the host's AgentReady tells of its DPU's ovs-vswitchd: packets are lost while that is down.
func (r *resourceReconciler) switched(resource *resourcev1.ManagedResource, report agents.Report) bool {
	said := report.GetOpenVswitch()
	switch {
	case said == nil:
		return false
	case !said.GetRunning():
		unmet(resource, resourcev1.AgentReadyCondition, reasonSwitchDown, fmt.Sprintf(
			"ovs-vswitchd of DPU %s doesn't run: see its log, and start it", report.GetChassis()))
		return true
	case said.GetRestarts() == 0 || r.now().Sub(report.SwitchSince) > switchMemory:
		return false
	}
	message := fmt.Sprintf("ovs-vswitchd of DPU %s was started again at %s (restart %d since the agent's start): packets were lost before. "+
		"Its log says why", report.GetChassis(), report.SwitchSince.UTC().Format(time.RFC3339), said.GetRestarts())
	if before := condition(resource, resourcev1.AgentReadyCondition); before == nil || before.Message != message {
		r.events.Eventf(resource, nil, corev1.EventTypeWarning, reasonSwitchAgain, "Reconcile", "%s", message)
	}
	set(resource, resourcev1.AgentReadyCondition, metav1.ConditionTrue, reasonSwitchAgain, message)
	return true
}

// fabricPolicy of the site, which is empty where there is none.
func fabricPolicy(ctx context.Context, c client.Reader) (*networkfabricv1.FabricPolicy, error) {
	policy := &networkfabricv1.FabricPolicy{}
	err := c.Get(ctx, client.ObjectKey{Name: networkfabricv1.FabricPolicyName}, policy)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get FabricPolicy %s: %w", networkfabricv1.FabricPolicyName, err)
	}
	return policy, nil
}
