package cluster

import (
	"context"
	"fmt"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

func resourceGroupKind(api *ibm.Client, service *graph.Service) *graph.Kind[ibm.ResourceGroup] {
	return &graph.Kind[ibm.ResourceGroup]{
		Name: infrav1.KindResourceGroup, Service: service,
		ID: func(g *ibm.ResourceGroup) string { return g.ID },
		Get: func(ctx context.Context, id string, _ graph.Scope) (*ibm.ResourceGroup, error) {
			return api.ResourceGroup(ctx, id)
		},
		Phase: func(*ibm.ResourceGroup) phases.Phase { return phases.Ready() },
	}
}

func (r *resources) wantResourceGroup() *graph.Handle[ibm.ResourceGroup] {
	name := r.object.Spec.ResourceGroup.Name
	return graph.Add(r.graph, r.kinds.ResourceGroup, graph.Want[ibm.ResourceGroup]{
		Key: resourceGroupKey, Condition: infrav1.ReferencesResolvedCondition,
		Claim: graph.UseFound("name "+name, func(ctx context.Context) (string, error) {
			groups, err := r.api.ResourceGroups(ctx, name)
			switch {
			case err != nil:
				return "", err
			case len(groups) == 0:
				return "", fault.Invalidf("the account has no resource group %q: create it, or correct spec.resourceGroup.name", name)
			}
			return groups[0].ID, nil
		}),
	})
}

// zoneKind needs an Edge Router only where a workspace is to be connected with a VPC.
func zoneKind(api *ibm.Client, service *graph.Service, connects bool) *graph.Kind[ibm.Zone] {
	return &graph.Kind[ibm.Zone]{
		Name: infrav1.KindZone, Service: service,
		ID:  func(z *ibm.Zone) string { return z.Name },
		Get: func(ctx context.Context, name string, _ graph.Scope) (*ibm.Zone, error) { return api.Zone(ctx, name) },
		Phase: func(z *ibm.Zone) phases.Phase {
			if connects && !z.Can(ibm.EdgeRouter) {
				return phases.Failed("zone %s has no Power Edge Router (%s), so its workspaces can't be connected with a VPC: choose another "+
					"spec.zone", z.Name, ibm.EdgeRouter).Because(string(fault.Invalid))
			}
			return phases.Ready()
		},
	}
}

func (r *resources) wantZone() *graph.Handle[ibm.Zone] {
	name := r.object.Spec.Zone
	return graph.Add(r.graph, r.kinds.Zone, graph.Want[ibm.Zone]{
		Key: zoneKey, Condition: infrav1.ZoneReadyCondition,
		Claim: graph.UseChecked(name, func(ctx context.Context) (string, error) {
			if _, err := r.api.Zone(ctx, name); err != nil {
				return "", fault.Correct("spec.zone", fmt.Errorf("zone %s: %w", name, err))
			}
			return name, nil
		}),
	})
}
