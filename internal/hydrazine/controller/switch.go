package controller

import (
	"fmt"
	"net/netip"
	"time"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
)

// switchMemory is for how long a condition says that ovs-vswitchd was restarted.
const switchMemory = time.Hour

// tell writes into AgentReady what is known of the host's DPU, the worst first: an address that its agent reports as its own and isn't,
// if any, and which of its addresses aren't proven.
func (r *resourceReconciler) tell(resource *resourcev1.ManagedResource, report agents.Report, foreign string, unproven []netip.Addr) {
	restarted := r.restarted(report)
	switch said := report.GetOpenVswitch(); {
	case said != nil && !said.GetRunning():
		unmet(resource, resourcev1.AgentReadyCondition, reasonSwitchDown, fmt.Sprintf(
			"ovs-vswitchd of DPU %s doesn't run: see its log, and start it", report.GetChassis()))
	case foreign != "" && restarted != "":
		r.warn(resource, reasonForeign, alarm(resource, foreign)+". "+restarted)
	case foreign != "":
		r.warn(resource, reasonForeign, alarm(resource, foreign))
	case restarted != "":
		r.warn(resource, reasonSwitchAgain, restarted)
	default:
		r.heard(resource, unproven)
	}
}

// restarted says that the DPU's ovs-vswitchd was restarted, unless that was long ago.
func (r *resourceReconciler) restarted(report agents.Report) string {
	said := report.GetOpenVswitch()
	if said.GetRestarts() == 0 || r.now().Sub(report.SwitchSince) > switchMemory {
		return ""
	}
	return fmt.Sprintf("ovs-vswitchd of DPU %s was started again at %s (restart %d since the agent's start): packets were lost before. "+
		"Its log says why", report.GetChassis(), report.SwitchSince.UTC().Format(time.RFC3339), said.GetRestarts())
}
