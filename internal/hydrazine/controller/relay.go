package controller

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
)

// relayFor is the DHCP relay that a DPU is to have for a group, and whether that is known. Until then it keeps the one that it has.
func (r *resourceReconciler) relayFor(
	group *resourcev1.ResourceGroup, chassis string, port *agentv1.Port,
) (wanted *agentv1.DHCPRelay, known bool) {
	relay, known := r.networks.relay(group.UID, chassis)
	if !known {
		if has := port.GetAssignment(); has.GetGroupUid() == string(group.UID) {
			return has.GetDhcpRelay(), false
		}
		return nil, false // what it has is another group's
	}
	if relay == nil {
		return nil, true
	}
	message := &agentv1.DHCPRelay{
		Interface: relay.Interface, LogicalPort: relay.LogicalPort, Mac: relay.MAC, LinkAddress: relay.Link.String(),
		Server: string(group.Spec.DHCPServer),
	}
	if relay.Address.IsValid() {
		message.Address = relay.Address.String()
	}
	return message, true
}

// relayed reports whether the DPU relays what its hosts ask the group's DHCP server for, or why the site doesn't allow
// that.
func relayed(
	resource *resourcev1.ManagedResource, group *resourcev1.ResourceGroup, report agents.Report, wanted *agentv1.DHCPRelay, known bool,
	refused string,
) {
	if group.Spec.DHCPServer == "" {
		drop(resource, resourcev1.DHCPReadyCondition)
		return
	}
	has, dpu := report.GetRelay(), report.GetChassis()
	switch {
	case report.GetLevel() < agentv1.LevelDHCP:
		unmet(resource, resourcev1.DHCPReadyCondition, reasonOlder, fmt.Sprintf(
			"the agent of DPU %s can't relay DHCP: upgrade it, or give the host its address by hand", dpu))
	case wanted == nil && !known:
		set(resource, resourcev1.DHCPReadyCondition, metav1.ConditionUnknown, reasonNoRelay, fmt.Sprintf(
			"the DHCP relay of DPU %s can't be configured yet: check that the OVN central of ResourceGroup %s is ready", dpu, group.Name))
	case wanted == nil && refused != "":
		unmet(resource, resourcev1.DHCPReadyCondition, reasonRelayRefused, fmt.Sprintf("ResourceGroup %s: %s", group.Name, refused))
	case wanted == nil:
		unmet(resource, resourcev1.DHCPReadyCondition, reasonNoRelay, fmt.Sprintf(
			"ResourceGroup %s has no network of the IP version of its DHCP server %s: choose another dhcpServer",
			group.Name, group.Spec.DHCPServer))
	case !proto.Equal(has.GetRelay(), wanted):
		set(resource, resourcev1.DHCPReadyCondition, metav1.ConditionUnknown, reasonNoRelay, fmt.Sprintf("DPU %s begins to relay DHCP", dpu))
	case has.GetProblem() != "":
		unmet(resource, resourcev1.DHCPReadyCondition, reasonRelayProblem, fmt.Sprintf("DPU %s doesn't relay DHCP: %s", dpu, has.GetProblem()))
	default:
		met(resource, resourcev1.DHCPReadyCondition)
	}
}
