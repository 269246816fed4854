package controller

import (
	"context"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// forgotten reports whether the DPU that a host was behind is known to have nothing of a public address any more. An agent that can't be
// reached doesn't say what packets are forwarded by there.
func (n *networks) forgotten(ctx context.Context, at *resourcev1.LogicalPortReference, public netip.Addr) bool {
	w := n.find(at.GroupUID)
	if w == nil {
		return false
	}
	report, known := n.agents.Known(string(at.Agent))
	if !known {
		return false
	}
	if translates, err := w.north.Translates(public); translates || err != nil {
		return false
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	last, waiting, err := w.compare(ctx, map[string]bool{at.DPU: true})
	return err == nil && len(waiting) == 0 && forwardsBy(report.Datapath, at.GroupUID, last.Change)
}

// forwardsBy reports whether a DPU forwards packets by a change of a group. An older agent doesn't say.
func forwardsBy(said *agentv1.Datapath, group types.UID, change int64) bool {
	return said == nil || said.GetGroupUid() == string(group) && said.GetChange() == change
}

// releasing reports whether a host has left a place or an address, which its DPU isn't known to have released.
func releasing(resource *resourcev1.ManagedResource) bool {
	if at := resource.Status.LogicalPortReference; at != nil && len(at.FormerFabricIPs) > 0 {
		return true
	}
	c := condition(resource, resourcev1.AttachedCondition)
	return c != nil && (c.Reason == reasonIsolating || c.Reason == reasonMoving)
}
