package cluster

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/utils/ptr"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

func groupKind(api *bmm.Client, service *graph.Service) *graph.Kind[bmm.NetworkSecurityGroup] {
	return &graph.Kind[bmm.NetworkSecurityGroup]{
		Name: "network security group", Service: service, Within: []string{kindSite}, Site: kindSite,
		ID:  func(g *bmm.NetworkSecurityGroup) string { return g.ID },
		Tag: func(g *bmm.NetworkSecurityGroup) graph.Tag { return tag.FromLabels(g.Labels) },
		Get: func(ctx context.Context, id string, in graph.Scope) (*bmm.NetworkSecurityGroup, error) {
			return api.NetworkSecurityGroup(ctx, in[kindSite], id)
		},
		Find: func(ctx context.Context, key graph.Key) ([]bmm.NetworkSecurityGroup, error) {
			return api.NetworkSecurityGroups(ctx, bmm.NetworkSecurityGroupFilter{SiteID: key.Scope[kindSite], Query: key.Owner})
		},
		Phase: groupPhase,
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteNetworkSecurityGroup(ctx, in[kindSite], id)
		},
	}
}

// groupPending is the reason of a group that the site has, and the service hasn't seen there yet: that takes until the
// next inventory, up to three minutes.
const groupPending = "Pending"

// groupPhase doesn't make a VPC wait for the inventory: a group's ID is enough for it, and the site applies the rules at once.
func groupPhase(g *bmm.NetworkSecurityGroup) phases.Phase {
	phase := phaseOf("network security group", g.Name, g.ID, g.Status, bmm.NetworkSecurityGroupReady)
	if phase.State == phases.StateWaiting {
		phase = phase.Because(groupPending).Usable()
	}
	return phase
}

// wantGroup adds the group before the VPC that it is attached to, so that no machine is ever without it. A group of the
// user's own has another key than one of ours: so the new one is attached before the old one is deleted.
func (n *networks) wantGroup(spec *infrav1.NetworkSecurityGroupSpec) *graph.Handle[bmm.NetworkSecurityGroup] {
	want := graph.Want[bmm.NetworkSecurityGroup]{
		Key: groupKey, Condition: infrav1.NSGReadyCondition, After: []graph.Ref{n.site},
	}
	if spec.ID != "" {
		want.Key, want.Claim = groupKey+"/"+spec.ID, graph.Use(spec.ID)
		return graph.Add(n.graph, n.kinds.Group, want)
	}
	want.Create = func(_ context.Context, key graph.Key) (graph.Call[bmm.NetworkSecurityGroup], error) {
		if site := n.site.Object(); !site.Capabilities.NetworkSecurityGroup {
			return nil, fault.Invalidf("site %s has no network security groups: remove spec.vpc.networkSecurityGroup, or choose another "+
				"site", site.Name)
		}
		request := bmm.NetworkSecurityGroupCreateRequest{
			Name: cmp.Or(spec.Name, n.object.Name), SiteID: n.siteID(), Labels: tag.Labels(spec.Labels, key),
			StatefulEgress: ptr.Deref(spec.StatefulEgress, false), Rules: rules(spec.Rules),
		}
		return func(ctx context.Context) (*bmm.NetworkSecurityGroup, error) {
			group, err := n.api.CreateNetworkSecurityGroup(ctx, request)
			return group, nameTaken(err, "spec.vpc.networkSecurityGroup.name")
		}, nil
	}
	want.Update = func(g *bmm.NetworkSecurityGroup) graph.Update {
		update, changes := groupUpdate(spec, cmp.Or(spec.Name, n.object.Name), n.group.OwnKey(), g)
		return graph.Update{Changes: changes, Apply: func(ctx context.Context) error {
			_, err := n.api.UpdateNetworkSecurityGroup(ctx, n.siteID(), g.ID, update)
			return err
		}}
	}
	return graph.Add(n.graph, n.kinds.Group, want)
}

// nameTaken names the field for another name when the wanted one is taken.
func nameTaken(err error, field string) error {
	if fault.ClassOf(err) == fault.Conflict {
		return fmt.Errorf("%w: choose another %s", err, field)
	}
	return err
}

// groupUpdate is the request that makes a group match the spec, and the same in readable form.
func groupUpdate(
	spec *infrav1.NetworkSecurityGroupSpec, name string, key graph.Key, g *bmm.NetworkSecurityGroup,
) (bmm.NetworkSecurityGroupUpdateRequest, []graph.Change) {
	var update bmm.NetworkSecurityGroupUpdateRequest
	var changes []graph.Change
	update.Name = ptr.Deref(change(&changes, "name", g.Name, name), "")
	update.StatefulEgress = change(&changes, "statefulEgress", g.StatefulEgress, ptr.Deref(spec.StatefulEgress, false))
	if labels, differ := labelChanges(spec.Labels, key, g.Labels); len(differ) > 0 {
		update.Labels = &labels
		changes = append(changes, differ...)
	}
	wanted := rules(spec.Rules)
	if differ := ruleChanges(wanted, g.Rules); len(differ) > 0 {
		update.Rules = &wanted
		changes = append(changes, differ...)
	}
	return update, changes
}
