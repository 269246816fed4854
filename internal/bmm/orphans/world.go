package orphans

import (
	"context"
	"slices"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/bmm/instance"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/orphans"
)

const (
	stageInstance orphans.Stage = iota
	stagePeering
	stageRange // subnets and VPC prefixes
	stageVPC
	stageGroup
	stageAllocation
	stageBlock
)

// itemOf reads what all kinds have.
func itemOf[S ~string](name, siteID string, status S, uses ...string) orphans.Item {
	return orphans.Item{
		Name: name, SiteID: siteID, Scope: graph.Scope{infrav1.KindSite: siteID}, Status: string(status), Uses: uses,
		Deleting: slices.Contains([]string{
			string(bmm.VPCDeleting), string(bmm.InstanceTerminating), string(bmm.InstanceTerminated),
		}, string(status)),
	}
}

// Kinds are those of clusters and machines.
func (a account) Kinds() []orphans.AnyKind {
	of := cluster.KindsOf(a.Client)
	return slices.Concat(a.labelled(of), a.named(of))
}

// labelled carry their tags in labels, except for peerings, which are judged by their VPCs.
func (a account) labelled(of *cluster.Kinds) []orphans.AnyKind {
	return []orphans.AnyKind{
		orphans.Kind[bmm.Instance]{
			Kind: instance.KindOf(a.Client), Stage: stageInstance, Labelled: true,
			List: func(ctx context.Context, site string) ([]bmm.Instance, error) {
				return a.Instances(ctx, bmm.InstanceFilter{SiteID: site})
			},
			Read: func(i *bmm.Instance) orphans.Item {
				uses := append([]string{i.VPCID, i.NetworkSecurityGroupID}, i.SecondaryVPCIDs...)
				for _, n := range i.Interfaces {
					uses = append(uses, n.SubnetID, n.VPCPrefixID)
				}
				return itemOf(i.Name, i.SiteID, i.Status, uses...)
			},
		},
		orphans.Kind[bmm.VPCPeering]{
			Kind: of.Peering, Stage: stagePeering, Part: "peering", List: a.VPCPeerings,
			Read: func(p *bmm.VPCPeering) orphans.Item { return itemOf("", p.SiteID, p.Status, p.VPC1ID, p.VPC2ID) },
		},
		orphans.Kind[bmm.VPC]{
			Kind: of.VPC, Stage: stageVPC, Labelled: true,
			List: func(ctx context.Context, site string) ([]bmm.VPC, error) {
				return a.VPCs(ctx, bmm.VPCFilter{SiteID: site})
			},
			Read: func(v *bmm.VPC) orphans.Item { return itemOf(v.Name, v.SiteID, v.Status, v.NetworkSecurityGroupID) },
		},
		orphans.Kind[bmm.NetworkSecurityGroup]{
			Kind: of.Group, Stage: stageGroup, Labelled: true,
			List: func(ctx context.Context, site string) ([]bmm.NetworkSecurityGroup, error) {
				return a.NetworkSecurityGroups(ctx, bmm.NetworkSecurityGroupFilter{SiteID: site})
			},
			Read: func(g *bmm.NetworkSecurityGroup) orphans.Item { return itemOf(g.Name, g.SiteID, g.Status) },
		},
	}
}

// named carry their tags in their names. The block of a tenant isn't among them: it is deleted with its allocation.
func (a account) named(of *cluster.Kinds) []orphans.AnyKind {
	return []orphans.AnyKind{
		orphans.Kind[bmm.Subnet]{
			Kind: of.Subnet, Stage: stageRange,
			List: func(ctx context.Context, site string) ([]bmm.Subnet, error) {
				return a.Subnets(ctx, bmm.SubnetFilter{SiteID: site})
			},
			Read: func(s *bmm.Subnet) orphans.Item { return itemOf(s.Name, s.SiteID, s.Status, s.VPCID, s.Ipv4BlockID) },
		},
		orphans.Kind[bmm.VPCPrefix]{
			Kind: of.Prefix, Stage: stageRange,
			List: func(ctx context.Context, site string) ([]bmm.VPCPrefix, error) {
				return a.VPCPrefixes(ctx, bmm.VPCPrefixFilter{SiteID: site})
			},
			Read: func(p *bmm.VPCPrefix) orphans.Item { return itemOf(p.Name, p.SiteID, p.Status, p.VPCID, p.IPBlockID) },
		},
		orphans.Kind[bmm.Allocation]{
			Kind: of.Allocation, Stage: stageAllocation,
			List: func(ctx context.Context, site string) ([]bmm.Allocation, error) {
				return a.Allocations(ctx, bmm.AllocationFilter{SiteID: site})
			},
			Read: func(l *bmm.Allocation) orphans.Item {
				i := itemOf(l.Name, l.SiteID, l.Status)
				for _, constraint := range l.AllocationConstraints {
					i.Uses, i.Gives = append(i.Uses, constraint.ResourceTypeID), constraint.DerivedResourceID
				}
				return i
			},
		},
		orphans.Kind[bmm.IPBlock]{
			Kind: of.IPBlock, Stage: stageBlock,
			List: func(ctx context.Context, site string) ([]bmm.IPBlock, error) {
				blocks, err := a.IPBlocks(ctx, site)
				return slices.DeleteFunc(blocks, func(b bmm.IPBlock) bool { return b.TenantID != "" }), err
			},
			Read: func(b *bmm.IPBlock) orphans.Item { return itemOf(b.Name, b.SiteID, b.Status) },
		},
	}
}
