package cluster

import (
	"cmp"
	"context"
	"fmt"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

func groupKind(api *ibm.Client, service *graph.Service) *graph.Kind[ibm.SecurityGroup] {
	return &graph.Kind[ibm.SecurityGroup]{
		Name: infrav1.KindSecurityGroup, Service: service, Within: []string{infrav1.KindRegion, infrav1.KindVPC},
		ID: func(g *ibm.SecurityGroup) string { return g.ID },
		Get: func(ctx context.Context, id string, in graph.Scope) (*ibm.SecurityGroup, error) {
			return api.SecurityGroup(ctx, in[infrav1.KindRegion], id)
		},
		Find: titled(func(ctx context.Context, key graph.Key) ([]ibm.SecurityGroup, error) {
			all, err := api.SecurityGroups(ctx, key.Scope[infrav1.KindRegion], key.Scope[infrav1.KindVPC])
			return withName(all, err, key.Title, func(g ibm.SecurityGroup) string { return g.Name })
		}),
		Phase: func(*ibm.SecurityGroup) phases.Phase { return phases.Ready() },
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteSecurityGroup(ctx, in[infrav1.KindRegion], id)
		},
	}
}

// wantGroups adds the security groups of the spec, and the rules of those that aren't the user's own. Rules come after all groups, because
// they may be about each other.
func (r *resources) wantGroups() {
	specs := r.object.Spec.VPCSecurityGroups
	if len(specs) == 0 {
		r.graph.Gate(infrav1.VPCSecurityGroupReadyCondition, notWanted)
	}
	for _, spec := range specs {
		want := graph.Want[ibm.SecurityGroup]{
			Key: groupKey + cmp.Or(spec.ID, spec.Name), Condition: infrav1.VPCSecurityGroupReadyCondition, After: []graph.Ref{r.vpc},
			Claim: graph.UseOrCreate(spec.Name),
			Create: func(_ context.Context, key graph.Key) (graph.Call[ibm.SecurityGroup], error) {
				region, vpc, group := key.Scope[infrav1.KindRegion], key.Scope[infrav1.KindVPC], r.groupID()
				return func(ctx context.Context) (*ibm.SecurityGroup, error) {
					return r.api.CreateSecurityGroup(ctx, region, vpc, key.Title, group, nil)
				}, nil
			},
		}
		if spec.ID != "" {
			want.Claim = graph.UseChecked(spec.ID, func(ctx context.Context) (string, error) { return spec.ID, r.checkGroup(ctx, spec.ID) })
		}
		r.groups.add(cmp.Or(spec.Name, spec.ID), graph.Add(r.graph, r.kinds.Group, want))
	}
	for i, spec := range specs {
		if group := r.groups[i].handle; spec.ID == "" && !group.IsUsers() {
			r.wantRules(r.groups[i].name, group, spec.Rules)
		}
	}
}

// checkGroup fails if the security group of the user's own is in another VPC.
func (r *resources) checkGroup(ctx context.Context, id string) error {
	g, err := r.api.SecurityGroup(ctx, r.object.Region(), id)
	if err != nil {
		return fault.Correct("spec.vpcSecurityGroups", fmt.Errorf("security group %s: %w", id, err))
	}
	return r.isInVPC("security group "+g.Name, id, g.VPC.ID, "spec.vpcSecurityGroups")
}
