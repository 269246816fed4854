package cluster

import (
	"cmp"
	"context"
	"fmt"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

func (n *networks) newVPCKind() *graph.Kind[bmm.VPC] {
	return &graph.Kind[bmm.VPC]{
		Name: "VPC",
		ID:   func(v *bmm.VPC) string { return v.ID },
		Tag:  func(v *bmm.VPC) graph.Tag { return tag.FromLabels(v.Labels) },
		Get: func(ctx context.Context, id string) (*bmm.VPC, error) {
			return n.api.VPC(ctx, n.siteID(), id)
		},
		Find: func(ctx context.Context, key graph.Key) ([]bmm.VPC, error) {
			return n.api.VPCs(ctx, bmm.VPCFilter{SiteID: n.siteID(), Query: key.Owner})
		},
		Phase:  vpcPhase,
		Delete: func(ctx context.Context, id string) error { return n.api.DeleteVPC(ctx, n.siteID(), id) },
	}
}

func vpcPhase(v *bmm.VPC) graph.Phase {
	switch v.Status {
	case bmm.VPCReady:
		return graph.Ready()
	case bmm.VPCDeleting:
		return graph.Deleting()
	case bmm.VPCError:
		return graph.Failed("the BMM API reports VPC %s (%s) as Error: ask the site's operator", v.Name, v.ID)
	}
	return graph.Waiting("VPC %s (%s) is %s", v.Name, v.ID, v.Status)
}

func (n *networks) wantVPC(object *infrav1.NvidiaBMMCluster) *graph.Handle[bmm.VPC] {
	spec := object.Spec.VPC
	return graph.Add(n.graph, n.vpcKind, graph.Want[bmm.VPC]{
		Key: vpcKey, Condition: infrav1.VPCReadyCondition, After: []graph.Ref{n.site}, Claim: graph.Create(),
		Create: func(_ context.Context, key graph.Key) (graph.Call[bmm.VPC], error) {
			request := bmm.VPCCreateRequest{
				// IDs of deleted VPCs can't be used again, so the ID comes from the attempt and not from the name.
				ID:                        key.Token,
				Name:                      cmp.Or(spec.Name, object.Name),
				Description:               spec.Description,
				SiteID:                    n.siteID(),
				NetworkVirtualizationType: bmm.NetworkVirtualizationType(spec.NetworkVirtualizationType),
				Labels:                    tag.Labels(spec.Labels, key),
			}
			return func(ctx context.Context) (*bmm.VPC, error) {
				created, err := n.api.CreateVPC(ctx, request)
				if fault.ClassOf(err) == fault.Conflict {
					err = fmt.Errorf("%w: choose another spec.vpc.name", err)
				}
				return created, err
			}, nil
		},
	})
}
