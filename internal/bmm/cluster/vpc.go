package cluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

func vpcKind(api *bmm.Client, service *graph.Service) *graph.Kind[bmm.VPC] {
	return &graph.Kind[bmm.VPC]{
		Name: kindVPC, Service: service, Within: []string{kindSite}, Site: kindSite,
		ID:  func(v *bmm.VPC) string { return v.ID },
		Tag: func(v *bmm.VPC) graph.Tag { return tag.FromLabels(v.Labels) },
		Get: func(ctx context.Context, id string, in graph.Scope) (*bmm.VPC, error) {
			return api.VPC(ctx, in[kindSite], id)
		},
		Find: func(ctx context.Context, key graph.Key) ([]bmm.VPC, error) {
			return api.VPCs(ctx, bmm.VPCFilter{SiteID: key.Scope[kindSite], Query: key.Owner})
		},
		Phase: func(v *bmm.VPC) phases.Phase {
			return phaseOf("VPC", v.Name, v.ID, v.Status, bmm.VPCReady)
		},
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteVPC(ctx, in[kindSite], id)
		},
	}
}

func (n *networks) wantVPC() *graph.Handle[bmm.VPC] {
	spec := n.object.Spec.VPC
	want := graph.Want[bmm.VPC]{Key: vpcKey, Condition: infrav1.VPCReadyCondition, After: []graph.Ref{n.site}}
	if spec.ID != "" {
		want.Claim = graph.UseChecked(spec.ID, n.usersVPC)
		return graph.Add(n.graph, n.kinds.VPC, want)
	}
	if n.group != nil {
		want.After = append(want.After, n.group)
	}
	want.Create = func(_ context.Context, key graph.Key) (graph.Call[bmm.VPC], error) {
		site, isFNN := n.site.Object(), spec.NetworkVirtualizationType == infrav1.FabricNativeNetworking
		if isFNN && !site.Capabilities.NativeNetworking {
			return nil, fault.Invalidf("site %s has no native networking, which FNN needs: use ETHERNET_VIRTUALIZER, or choose another "+
				"site", site.Name)
		}
		request := bmm.VPCCreateRequest{
			// IDs of deleted VPCs can't be used again, so the ID comes from the attempt and not from the name.
			ID:                        key.Token,
			Name:                      n.vpcName(),
			Description:               spec.Description,
			SiteID:                    n.siteID(),
			NetworkVirtualizationType: bmm.NetworkVirtualizationType(spec.NetworkVirtualizationType),
			RoutingProfile:            spec.RoutingProfile,
			VNI:                       int(ptr.Deref(spec.VNI, 0)),
			NVLinkLogicalPartitionID:  spec.NVLinkLogicalPartitionID,
			NetworkSecurityGroupID:    n.groupID(),
			Labels:                    tag.Labels(spec.Labels, key),
		}
		return func(ctx context.Context) (*bmm.VPC, error) {
			vpc, err := n.api.CreateVPC(ctx, request)
			return vpc, nameTaken(err, "spec.vpc.name")
		}, nil
	}
	want.Update = func(v *bmm.VPC) graph.Update {
		update, changes := n.vpcUpdate(v)
		u := graph.Update{Changes: changes, Apply: func(ctx context.Context) error { return n.updateVPC(ctx, v.ID, update) }}
		if update == (bmm.VPCUpdateRequest{}) { // other differences are written before
			u.Refused = n.checkFixed(v)
		}
		return u
	}
	// An inventory that is older than a change of the metadata, and arrives after it, makes the service send these to the
	// site again: without the group, which the site detaches and the API keeps showing. Instances' groups aren't affected.
	want.Again, want.InEffect = n.group != nil, groupInEffect
	return graph.Add(n.graph, n.kinds.VPC, want)
}

func (n *networks) vpcName() string { return cmp.Or(n.object.Spec.VPC.Name, n.object.Name) }

// groupID is that of the group that the VPC is attached to; empty if the spec has none.
func (n *networks) groupID() string {
	if n.group == nil {
		return ""
	}
	return n.group.ID()
}

// usersVPC finds the user's own VPC, if it can be used for this cluster.
func (n *networks) usersVPC(ctx context.Context) (string, error) {
	spec := n.object.Spec.VPC
	v, err := n.api.VPC(ctx, n.siteID(), spec.ID)
	switch {
	case err != nil:
		return "", fault.Correct("spec.vpc.id", fmt.Errorf("VPC %s: %w", spec.ID, err))
	case v.SiteID != n.siteID():
		return "", fault.Invalidf("VPC %s (%s) is at site %s, and spec.siteRef names site %s: choose a VPC of that site",
			v.Name, v.ID, v.SiteID, n.siteID())
	case string(v.NetworkVirtualizationType) != string(spec.NetworkVirtualizationType):
		return "", fault.Invalidf("VPC %s (%s) is of type %s: set spec.vpc.networkVirtualizationType to that",
			v.Name, v.ID, v.NetworkVirtualizationType)
	}
	return v.ID, nil
}

// groupInEffect reads the details that the API has of a group on the instances of a VPC; without instances it has none.
func groupInEffect(v *bmm.VPC) bool {
	status := v.NetworkSecurityGroupPropagationDetails.Status
	return status != "" && status != bmm.PropagationError
}

// checkFixed compares what only a create can set. The spec may have been changed while the VPC was being created, and the first
// releases ignore a routing profile, which they don't know.
func (n *networks) checkFixed(v *bmm.VPC) error {
	spec := n.object.Spec.VPC
	vni := int(ptr.Deref(spec.VNI, 0))
	switch {
	case string(v.NetworkVirtualizationType) != string(spec.NetworkVirtualizationType):
		return fault.Invalidf("VPC %s is of type %s, and this can't be changed: set spec.vpc.networkVirtualizationType to that, or make "+
			"another cluster", v.ID, v.NetworkVirtualizationType)
	case vni != v.RequestedVNI && vni != v.VNI:
		return fault.Invalidf("VPC %s has VNI %d, and this can't be changed: set spec.vpc.vni to that, or make another cluster", v.ID, v.VNI)
	case spec.RoutingProfile != "" && !strings.EqualFold(v.RoutingProfile, spec.RoutingProfile):
		return fault.Invalidf("VPC %s has routing profile %q, and spec.vpc.routingProfile says %q: this can't be changed, and some releases "+
			"ignore it; set it to that or remove it, or make another cluster at a site whose release knows it",
			v.ID, v.RoutingProfile, spec.RoutingProfile)
	}
	return nil
}

// updateVPC sends the NVLink partition by itself, and last: the service refuses to change it while instances use it, and
// that must not delay the security group. The group is always sent, in case the site has lost it.
func (n *networks) updateVPC(ctx context.Context, id string, update bmm.VPCUpdateRequest) error {
	partition := bmm.VPCUpdateRequest{NVLinkLogicalPartitionID: update.NVLinkLogicalPartitionID}
	update.NVLinkLogicalPartitionID = nil
	if group := n.groupID(); group != "" {
		update.NetworkSecurityGroupID = &group
	}
	if update != (bmm.VPCUpdateRequest{}) {
		if _, err := n.api.UpdateVPC(ctx, n.siteID(), id, update); err != nil {
			return err
		}
	}
	if partition.NVLinkLogicalPartitionID == nil {
		return nil
	}
	_, err := n.api.UpdateVPC(ctx, n.siteID(), id, partition)
	return err
}

// vpcUpdate is the request that makes a VPC of ours match the spec, and the same in readable form.
func (n *networks) vpcUpdate(v *bmm.VPC) (bmm.VPCUpdateRequest, []graph.Change) {
	spec := n.object.Spec.VPC
	var update bmm.VPCUpdateRequest
	var changes []graph.Change
	update.Name = ptr.Deref(change(&changes, "name", v.Name, n.vpcName()), "")
	update.Description = change(&changes, "description", v.Description, spec.Description)
	update.NVLinkLogicalPartitionID =
		change(&changes, "nvLinkLogicalPartitionId", v.NVLinkLogicalPartitionID, spec.NVLinkLogicalPartitionID)
	switch id := n.groupID(); {
	case id != "" || n.group == nil:
		update.NetworkSecurityGroupID = change(&changes, "networkSecurityGroupId", v.NetworkSecurityGroupID, id)
	case n.planning: // the group is still to come
		change(&changes, "networkSecurityGroupId", v.NetworkSecurityGroupID, "the new group")
	}
	if labels, differ := labelChanges(spec.Labels, n.vpc.OwnKey(), v.Labels); len(differ) > 0 {
		update.Labels = &labels
		changes = append(changes, differ...)
	}
	return update, changes
}
