package cluster

import (
	"context"
	"fmt"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// prefixKind is what an FNN VPC has in place of subnets.
func prefixKind(api *bmm.Client, service *graph.Service) *graph.Kind[bmm.VPCPrefix] {
	return &graph.Kind[bmm.VPCPrefix]{
		Name: "VPC prefix", Service: service, Within: []string{kindSite}, Site: kindSite,
		ID:  func(p *bmm.VPCPrefix) string { return p.ID },
		Tag: func(p *bmm.VPCPrefix) graph.Tag { return tag.FromName(prefixKey, p.Name) },
		Get: func(ctx context.Context, id string, in graph.Scope) (*bmm.VPCPrefix, error) {
			return api.VPCPrefix(ctx, in[kindSite], id)
		},
		Find: func(ctx context.Context, key graph.Key) ([]bmm.VPCPrefix, error) {
			return api.VPCPrefixes(ctx, bmm.VPCPrefixFilter{SiteID: key.Scope[kindSite], Query: key.Owner})
		},
		Phase: func(p *bmm.VPCPrefix) phases.Phase {
			return phaseOf("VPC prefix", p.Name, p.ID, p.Status, bmm.VPCPrefixReady)
		},
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteVPCPrefix(ctx, in[kindSite], id)
		},
	}
}

func (n *networks) wantPrefix(spec infrav1.VPCPrefixSpec) *graph.Handle[bmm.VPCPrefix] {
	var prefix *graph.Handle[bmm.VPCPrefix]
	prefix = graph.Add(n.graph, n.kinds.Prefix, graph.Want[bmm.VPCPrefix]{
		Key: prefixKey + "/" + spec.Name, Condition: infrav1.SubnetsReadyCondition, After: []graph.Ref{n.vpc, n.ipBlock, n.shown},
		Lock: n.ipBlockLock,
		Create: func(_ context.Context, key graph.Key) (graph.Call[bmm.VPCPrefix], error) {
			length := prefixLength(spec.PrefixLength, spec.CIDR)
			if err := fits("VPC prefix", spec.Name, spec.CIDR, length, n.ipBlock.Object()); err != nil {
				return nil, err
			}
			request := bmm.VPCPrefixCreateRequest{
				Name: tag.Name(key), VPCID: n.vpc.ID(), IPBlockID: n.ipBlock.ID(), PrefixLength: length,
			}
			return func(ctx context.Context) (*bmm.VPCPrefix, error) { return n.api.CreateVPCPrefix(ctx, request) }, nil
		},
		Update: func(p *bmm.VPCPrefix) graph.Update {
			u := n.rangeUpdate(fmt.Sprintf("VPC prefix %q", spec.Name), p.Name, prefix.OwnKey(), p.VPCID, p.PrefixLength, prefixLength(spec.PrefixLength, spec.CIDR))
			u.Apply = func(ctx context.Context) error {
				_, err := n.api.UpdateVPCPrefix(ctx, n.siteID(), p.ID, bmm.VPCPrefixUpdateRequest{Name: tag.Name(prefix.OwnKey())})
				return err
			}
			return u
		},
	})
	return prefix
}
