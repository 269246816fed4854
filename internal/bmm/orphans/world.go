package orphans

import (
	"context"
	"fmt"
	"slices"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/cluster"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/graph"
)

// stage is the order in which the resources of one owner are deleted.
type stage int

const (
	stageInstance stage = iota
	stagePeering
	stageRange // subnets and VPC prefixes
	stageVPC
	stageGroup
	stageAllocation
	stageBlock
)

// item is a resource at a BMM API, ours or not.
type item struct {
	kind             string
	stage            stage
	id, name, siteID string
	status           string
	// tag is that of its labels; if labelled is false, its name read as a tag.
	tag      graph.Tag
	labelled bool
	// uses are the IDs of what has to outlive it.
	uses []string
	// gives is the ID of what is deleted with it.
	gives string

	account account
	get     func(context.Context) (item, error)
	remove  func(context.Context) error
}

func (i item) String() string {
	if i.name == "" {
		return fmt.Sprintf("%s %s", i.kind, i.id)
	}
	return fmt.Sprintf("%s %s (%s)", i.kind, i.name, i.id)
}

// deleting reports whether it is being deleted.
func (i item) deleting() bool {
	switch i.status {
	case string(bmm.VPCDeleting), string(bmm.InstanceTerminating), string(bmm.InstanceTerminated):
		return true
	}
	return false
}

// account is what is seen of a BMM API with the credentials of one Secret.
type account struct {
	*bmm.Client
	secret string
}

// kind is one sort of resource, as the client has it.
type kind[T any] struct {
	name   string
	stage  stage
	list   func(ctx context.Context, site string) ([]T, error)
	get    func(ctx context.Context, site, id string) (*T, error)
	remove func(ctx context.Context, site, id string) error
	// read reads what is specific to the kind.
	read func(*T) item
}

func (k kind[T]) items(ctx context.Context, a account, site string) ([]item, error) {
	list, err := k.list(ctx, site)
	if err != nil {
		return nil, err
	}
	var all []item
	for n := range list {
		all = append(all, k.item(a, &list[n]))
	}
	return all, nil
}

func (k kind[T]) item(a account, object *T) item {
	i := k.read(object)
	i.kind, i.stage, i.account = k.name, k.stage, a
	i.remove = func(ctx context.Context) error { return k.remove(ctx, i.siteID, i.id) }
	i.get = func(ctx context.Context) (item, error) {
		now, err := k.get(ctx, i.siteID, i.id)
		if err != nil {
			return item{}, err
		}
		return k.item(a, now), nil
	}
	return i
}

type anyKind interface {
	items(ctx context.Context, a account, site string) ([]item, error)
}

// world returns everything at a site that Bedplate may have made, and what lies in it; at all sites if that is empty. A
// partial result is an error.
func (a account) world(ctx context.Context, site string) ([]item, error) {
	var all []item
	for _, k := range slices.Concat(a.networkKinds(), a.rangeKinds(), a.providerKinds()) {
		found, err := k.items(ctx, a, site)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// networkKinds carry their tags in labels, except for peerings, which are judged by their VPCs.
func (a account) networkKinds() []anyKind {
	return []anyKind{
		kind[bmm.Instance]{
			name: "instance", stage: stageInstance, get: a.Instance, remove: a.DeleteInstance,
			list: func(ctx context.Context, site string) ([]bmm.Instance, error) {
				return a.Instances(ctx, bmm.InstanceFilter{SiteID: site})
			},
			read: func(i *bmm.Instance) item {
				uses := append([]string{i.VPCID, i.NetworkSecurityGroupID}, i.SecondaryVPCIDs...)
				for _, n := range i.Interfaces {
					uses = append(uses, n.SubnetID, n.VPCPrefixID)
				}
				return item{
					id: i.ID, name: i.Name, siteID: i.SiteID, status: string(i.Status), uses: uses,
					tag: tag.FromLabels(i.Labels), labelled: true,
				}
			},
		},
		kind[bmm.VPCPeering]{
			name: "VPC peering", stage: stagePeering, list: a.VPCPeerings, get: a.VPCPeering, remove: a.DeleteVPCPeering,
			read: func(p *bmm.VPCPeering) item {
				return item{id: p.ID, siteID: p.SiteID, status: string(p.Status), uses: []string{p.VPC1ID, p.VPC2ID}}
			},
		},
		kind[bmm.VPC]{
			name: "VPC", stage: stageVPC, get: a.VPC, remove: a.DeleteVPC,
			list: func(ctx context.Context, site string) ([]bmm.VPC, error) {
				return a.VPCs(ctx, bmm.VPCFilter{SiteID: site})
			},
			read: func(v *bmm.VPC) item {
				return item{
					id: v.ID, name: v.Name, siteID: v.SiteID, status: string(v.Status), uses: []string{v.NetworkSecurityGroupID},
					tag: tag.FromLabels(v.Labels), labelled: true,
				}
			},
		},
		kind[bmm.NetworkSecurityGroup]{
			name: "network security group", stage: stageGroup, get: a.NetworkSecurityGroup, remove: a.DeleteNetworkSecurityGroup,
			list: func(ctx context.Context, site string) ([]bmm.NetworkSecurityGroup, error) {
				return a.NetworkSecurityGroups(ctx, bmm.NetworkSecurityGroupFilter{SiteID: site})
			},
			read: func(g *bmm.NetworkSecurityGroup) item {
				return item{
					id: g.ID, name: g.Name, siteID: g.SiteID, status: string(g.Status), tag: tag.FromLabels(g.Labels), labelled: true,
				}
			},
		},
	}
}

// rangeKinds carry their tags in their names.
func (a account) rangeKinds() []anyKind {
	return []anyKind{
		kind[bmm.Subnet]{
			name: "subnet", stage: stageRange, get: a.Subnet, remove: a.DeleteSubnet,
			list: func(ctx context.Context, site string) ([]bmm.Subnet, error) {
				return a.Subnets(ctx, bmm.SubnetFilter{SiteID: site})
			},
			read: func(s *bmm.Subnet) item {
				return item{
					id: s.ID, name: s.Name, siteID: s.SiteID, status: string(s.Status), uses: []string{s.VPCID, s.Ipv4BlockID},
					tag: tag.FromName(cluster.SubnetKey, s.Name),
				}
			},
		},
		kind[bmm.VPCPrefix]{
			name: "VPC prefix", stage: stageRange, get: a.VPCPrefix, remove: a.DeleteVPCPrefix,
			list: func(ctx context.Context, site string) ([]bmm.VPCPrefix, error) {
				return a.VPCPrefixes(ctx, bmm.VPCPrefixFilter{SiteID: site})
			},
			read: func(p *bmm.VPCPrefix) item {
				return item{
					id: p.ID, name: p.Name, siteID: p.SiteID, status: string(p.Status), uses: []string{p.VPCID, p.IPBlockID},
					tag: tag.FromName(cluster.PrefixKey, p.Name),
				}
			},
		},
	}
}

// providerKinds carry their tags in their names. The block of a tenant isn't among them: it is deleted with its
// allocation.
func (a account) providerKinds() []anyKind {
	return []anyKind{
		kind[bmm.Allocation]{
			name: "allocation", stage: stageAllocation, get: a.Allocation, remove: a.DeleteAllocation,
			list: func(ctx context.Context, site string) ([]bmm.Allocation, error) {
				return a.Allocations(ctx, bmm.AllocationFilter{SiteID: site})
			},
			read: func(l *bmm.Allocation) item {
				i := item{id: l.ID, name: l.Name, siteID: l.SiteID, status: string(l.Status)}
				i.tag = tag.FromName(cluster.AllocationKey, l.Name)
				for _, constraint := range l.AllocationConstraints {
					i.uses, i.gives = append(i.uses, constraint.ResourceTypeID), constraint.DerivedResourceID
				}
				return i
			},
		},
		kind[bmm.IPBlock]{
			name: "IP block", stage: stageBlock, get: a.IPBlock, remove: a.DeleteIPBlock,
			list: func(ctx context.Context, site string) ([]bmm.IPBlock, error) {
				blocks, err := a.IPBlocks(ctx, site)
				return slices.DeleteFunc(blocks, func(b bmm.IPBlock) bool { return b.TenantID != "" }), err
			},
			read: func(b *bmm.IPBlock) item {
				return item{
					id: b.ID, name: b.Name, siteID: b.SiteID, status: string(b.Status), tag: tag.FromName(cluster.ParentBlockKey, b.Name),
				}
			},
		},
	}
}
