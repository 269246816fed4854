package controller

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
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

// wrote notes which members are written. The network is locked.
func (w *network) wrote(ctx context.Context, members []topology.Member) error {
	change, err := w.north.Change(ctx)
	if err != nil {
		return err
	}
	before, now := outside(w.written), outside(members)
	maps.DeleteFunc(before, func(a answer, _ bool) bool { return now[a] })
	if w.written == nil || len(before) > 0 {
		w.taken = change
	}
	w.written = append([]topology.Member{}, members...)
	return nil
}

// answer of a DPU for an address.
type answer struct {
	chassis string
	address netip.Addr
}

// outside are the addresses on the fabric and on the internet that DPUs answer for because of members.
func outside(members []topology.Member) map[answer]bool {
	all := map[answer]bool{}
	for _, m := range members {
		for _, a := range m.Addresses {
			all[answer{m.Chassis, a.FabricIP}], all[answer{m.Chassis, a.PublicIP}] = true, true
		}
	}
	return all
}

// A DPU that comes to the network of a group gets what the southbound database says, and answers for the addresses in it. What the DPU has
// given up may be another host's by now: the members that have left have to be written without the DPU, and that has to be transferred.

// lingers reports whether a member that has left a DPU is still written with it, as far as is known.
func (n *networks) lingers(group types.UID, chassis string, host *resourcev1.ManagedResource, inGroup []resourcev1.ManagedResource) bool {
	w := n.find(group)
	if w == nil {
		return false // what is written first follows from what is known of the members by then
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.ContainsFunc(w.written, func(m topology.Member) bool {
		return m.Chassis == chassis && !slices.ContainsFunc(inGroup, func(r resourcev1.ManagedResource) bool {
			at := r.Status.LogicalPortReference
			if r.UID == host.UID {
				at = host.Status.LogicalPortReference
			}
			return string(r.UID) == m.UID && at != nil && at.DPU == chassis
		})
	})
}

// current reports whether the southbound database of a group is known to be without what was taken from DPUs.
func (n *networks) current(ctx context.Context, group types.UID) bool {
	w := n.find(group)
	if w == nil {
		return false
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	transferred, err := w.north.Transferred(ctx)
	return err == nil && w.written != nil && transferred >= w.taken
}

// serves reports whether a DPU has a host of a group.
func serves(report *agentv1.Report, group types.UID) bool {
	return slices.ContainsFunc(report.GetPorts(), func(p *agentv1.Port) bool { return p.GetAssignment().GetGroupUid() == string(group) })
}

// releasing reports whether a host has left a place or an address, which its DPU isn't known to have released.
func releasing(resource *resourcev1.ManagedResource) bool {
	if at := resource.Status.LogicalPortReference; at != nil && len(at.FormerFabricIPs) > 0 {
		return true
	}
	c := condition(resource, resourcev1.AttachedCondition)
	return c != nil && (c.Reason == reasonIsolating || c.Reason == reasonMoving)
}
