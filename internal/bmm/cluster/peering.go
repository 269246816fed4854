package cluster

import (
	"context"
	"fmt"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// peeringKind has no tag: a peering has neither labels nor a name. It is known by its two VPCs, of which the title of the
// key is the other one.
func peeringKind(api *bmm.Client, service *graph.Service) *graph.Kind[bmm.VPCPeering] {
	return &graph.Kind[bmm.VPCPeering]{
		Name: "VPC peering", Service: service, Within: []string{kindSite, kindVPC}, Site: kindSite,
		ID: func(p *bmm.VPCPeering) string { return p.ID },
		Get: func(ctx context.Context, id string, in graph.Scope) (*bmm.VPCPeering, error) {
			return getPeering(ctx, api, id, in)
		},
		Find: func(ctx context.Context, key graph.Key) ([]bmm.VPCPeering, error) {
			return findPeering(ctx, api, key)
		},
		Phase: peeringPhase,
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteVPCPeering(ctx, in[kindSite], id)
		},
	}
}

// getPeering says what to wait for when one of the VPCs is gone: the peering can neither be read nor deleted until the service
// learns from the site that it is gone too.
func getPeering(ctx context.Context, api *bmm.Client, id string, in graph.Scope) (*bmm.VPCPeering, error) {
	peering, err := api.VPCPeering(ctx, in[kindSite], id)
	if fault.ClassOf(err) == fault.Busy {
		err = fmt.Errorf("%w: one of its VPCs is gone, so the peering goes too, when the site reports that; if it hasn't within an "+
			"hour, ask the site's operator to delete it", err)
	}
	return peering, err
}

// findPeering doesn't bind what can't be read: the service keeps listing a peering when one of its VPCs is gone.
func findPeering(ctx context.Context, api *bmm.Client, key graph.Key) ([]bmm.VPCPeering, error) {
	all, err := api.VPCPeerings(ctx, key.Scope[kindSite])
	if err != nil {
		return nil, fault.Correct("spec.vpcPeerings", err)
	}
	ours, theirs := key.Scope[kindVPC], key.Title
	var found []bmm.VPCPeering
	for _, p := range all {
		if (p.VPC1ID != ours || p.VPC2ID != theirs) && (p.VPC1ID != theirs || p.VPC2ID != ours) {
			continue
		}
		if _, err := getPeering(ctx, api, p.ID, key.Scope); err == nil {
			found = append(found, p)
		} else if !fault.IsNotFound(err) {
			return nil, err
		}
	}
	return found, nil
}

func peeringPhase(p *bmm.VPCPeering) phases.Phase {
	switch p.Status {
	case bmm.VPCPeeringReady:
		return phases.Ready()
	case bmm.VPCPeeringDeleting:
		return phases.Deleting()
	case bmm.VPCPeeringError:
		return phases.Failed("the BMM API reports the peering %s of VPCs %s and %s as Error: ask the site's operator",
			p.ID, p.VPC1ID, p.VPC2ID)
	case bmm.VPCPeeringRequested:
		return phases.Waiting("the owner of the other VPC has to accept the peering %s of VPCs %s and %s",
			p.ID, p.VPC1ID, p.VPC2ID).Because("NotAccepted")
	}
	return phases.Waiting("the peering %s of VPCs %s and %s is %s", p.ID, p.VPC1ID, p.VPC2ID, p.Status)
}

// wantPeering takes a peering of the two VPCs that is there already as the user's own.
func (n *networks) wantPeering(spec infrav1.VPCPeeringSpec) *graph.Handle[bmm.VPCPeering] {
	return graph.Add(n.graph, n.kinds.Peering, graph.Want[bmm.VPCPeering]{
		Key: peeringKey + "/" + spec.PeerVPCID, Condition: infrav1.VPCPeeringsReadyCondition, After: []graph.Ref{n.vpc},
		Claim: graph.UseOrCreate(spec.PeerVPCID),
		Create: func(context.Context, graph.Key) (graph.Call[bmm.VPCPeering], error) {
			request := bmm.VPCPeeringCreateRequest{SiteID: n.siteID(), VPC1ID: n.vpc.ID(), VPC2ID: spec.PeerVPCID}
			return func(ctx context.Context) (*bmm.VPCPeering, error) {
				peering, err := n.api.CreateVPCPeering(ctx, request)
				if class := fault.ClassOf(err); class == fault.Invalid || class == fault.Quota {
					err = fmt.Errorf("%w: VPC %s can't be a peer; correct spec.vpcPeerings, or ask for the right to peer with it",
						err, spec.PeerVPCID)
				}
				return peering, err
			}, nil
		},
	})
}
