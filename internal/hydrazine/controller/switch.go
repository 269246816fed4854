package controller

import (
	"fmt"
	"time"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
)

// switchMemory is for how long a condition says that ovs-vswitchd was started again.
const switchMemory = time.Hour

// tellOfSwitch says in AgentReady that the DPU's ovs-vswitchd is down or was started again: packets were lost. It returns whether there was
// anything to say.
func (r *resourceReconciler) tellOfSwitch(resource *resourcev1.ManagedResource, report agents.Report) bool {
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
	r.warn(resource, reasonSwitchAgain, fmt.Sprintf("ovs-vswitchd of DPU %s was started again at %s (restart %d since the agent's start): "+
		"packets were lost before. Its log says why", report.GetChassis(), report.SwitchSince.UTC().Format(time.RFC3339), said.GetRestarts()))
	return true
}
