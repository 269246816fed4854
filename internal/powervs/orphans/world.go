package orphans

import (
	"context"
	"strings"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
	"github.com/bedplate/bedplate/internal/orphans"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
	"github.com/bedplate/bedplate/internal/powervs/cluster"
	"github.com/bedplate/bedplate/internal/powervs/machine"
	"github.com/bedplate/bedplate/internal/powervs/tag"
)

// The order of deletion: machines, their images, and what a cluster has, in reverse.
const (
	stageMember orphans.Stage = iota
	stageVM
	stageData
	stageImage
	stageConnection
	stageGateway
	stageBalancer
	stageRule
	stageGroup
	stageSubnet
	stageVPC
	stageNetwork
	stageWorkspace
	stageKey
	stageBucket
	stageCOS
)

// Kinds are those of clusters, machines and images.
func (a account) Kinds() []orphans.AnyKind {
	of := cluster.KindsOf(a.Client, &infrav1.IBMPowerVSCluster{})
	return []orphans.AnyKind{
		untagged(a.members(), stageMember), a.machines(), untagged(a.data(), stageData), a.images(),
		untagged(of.PowerVSConnection, stageConnection), untagged(of.VPCConnection, stageConnection), untagged(of.Gateway, stageGateway),
		untagged(of.Balancer, stageBalancer), untagged(of.Rule, stageRule), untagged(of.Group, stageGroup), untagged(of.Subnet, stageSubnet),
		untagged(of.VPC, stageVPC), untagged(of.Network, stageNetwork), untagged(of.Workspace, stageWorkspace),
		untagged(of.Key, stageKey), untagged(of.Bucket, stageBucket), untagged(of.COS, stageCOS),
	}
}

// untagged are resources that nothing shows whose they are but ledgers.
func untagged[T any](kind *graph.Kind[T], stage orphans.Stage) orphans.AnyKind {
	return orphans.Kind[T]{Kind: kind, Stage: stage, Read: func(o *T) orphans.Item {
		return orphans.Item{Deleting: kind.Phase(o).State == phases.StateDeleting}
	}}
}

// placed is something in a workspace.
type placed[T any] struct {
	in ibm.Workspace
	it T
}

func (a account) machines() orphans.AnyKind {
	of := machine.KindOf(a.Client)
	return inWorkspaces(a, of, stageVM, a.Servers, a.Server, func(s *ibm.Server) (string, string) { return s.Name, s.Status })
}

func (a account) images() orphans.AnyKind {
	of := &graph.Kind[ibm.Image]{
		Name: infrav1.KindImage, ID: func(i *ibm.Image) string { return i.ID },
		Tag:   func(i *ibm.Image) graph.Tag { return tag.From(i.UserTags) },
		Phase: func(*ibm.Image) phases.Phase { return phases.Ready() },
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return a.DeleteImage(ctx, workspaceOf(in), id)
		},
	}
	return inWorkspaces(a, of, stageImage, a.Images, a.Image, func(i *ibm.Image) (string, string) { return i.Name, i.State })
}

// inWorkspaces are resources with tags, in all workspaces or in one. No list shows tags, so each is read.
func inWorkspaces[T any](
	a account, of *graph.Kind[T], stage orphans.Stage, list func(context.Context, ibm.Workspace) ([]T, error),
	read func(context.Context, ibm.Workspace, string) (*T, error), shown func(*T) (name, status string),
) orphans.AnyKind {
	kind := &graph.Kind[placed[T]]{
		Name: of.Name, ID: func(p *placed[T]) string { return of.ID(&p.it) }, Tag: func(p *placed[T]) graph.Tag { return of.Tag(&p.it) },
		Get: func(ctx context.Context, id string, in graph.Scope) (*placed[T], error) {
			found, err := read(ctx, workspaceOf(in), id)
			if err != nil {
				return nil, err
			}
			return &placed[T]{workspaceOf(in), *found}, nil
		},
		Delete: of.Delete,
	}
	all := func(ctx context.Context, site string) (found []placed[T], _ error) {
		workspaces, err := a.Instances(ctx, ibm.PlanPowerVS, "")
		if err != nil {
			return nil, err
		}
		for _, w := range workspaces {
			in := ibm.Workspace{Zone: w.Target, ID: w.ID}
			if w.State == ibm.StateProvisioning || site != "" && site != w.ID {
				continue
			}
			listed, err := list(ctx, in)
			if err != nil {
				return nil, err
			}
			for i := range listed {
				whole, err := read(ctx, in, of.ID(&listed[i]))
				switch {
				case fault.IsNotFound(err):
				case err != nil:
					return nil, err
				default:
					found = append(found, placed[T]{in, *whole})
				}
			}
		}
		return found, nil
	}
	return orphans.Kind[placed[T]]{Kind: kind, Stage: stage, Labelled: true, List: all, Read: func(p *placed[T]) orphans.Item {
		name, status := shown(&p.it)
		return orphans.Item{
			Name: name, SiteID: p.in.ID, Status: status, Uses: []string{p.in.ID},
			Scope:    graph.Scope{infrav1.KindZone: p.in.Zone, infrav1.KindWorkspace: p.in.ID},
			Deleting: of.Phase(&p.it).State == phases.StateDeleting,
		}
	}}
}

func (a account) members() *graph.Kind[ibm.Member] {
	at := func(in graph.Scope) (region, balancer, pool string) {
		return in[infrav1.KindRegion], in[infrav1.KindLoadBalancer], in[infrav1.KindPool]
	}
	return &graph.Kind[ibm.Member]{
		Name: infrav1.KindPoolMember, ID: func(m *ibm.Member) string { return m.ID },
		Phase: func(*ibm.Member) phases.Phase { return phases.Ready() },
		Get: func(ctx context.Context, id string, in graph.Scope) (*ibm.Member, error) {
			region, balancer, pool := at(in)
			return a.Member(ctx, region, balancer, pool, id)
		},
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			region, balancer, pool := at(in)
			return a.DeleteMember(ctx, region, balancer, pool, id)
		},
	}
}

// data are bootstrap data in buckets, by BUCKET/KEY.
func (a account) data() *graph.Kind[string] {
	at := func(id string, in graph.Scope) (bucket ibm.Bucket, key string) {
		bucket = ibm.Bucket{InstanceID: in[infrav1.KindCOSInstance], Region: in[infrav1.KindBucketRegion], Name: in[infrav1.KindBucket]}
		return bucket, strings.TrimPrefix(id, bucket.Name+"/")
	}
	return &graph.Kind[string]{
		Name: infrav1.KindBootstrapData, ID: func(id *string) string { return *id },
		Phase: func(*string) phases.Phase { return phases.Ready() },
		Get: func(ctx context.Context, id string, in graph.Scope) (*string, error) {
			bucket, key := at(id, in)
			return &id, a.HeadObject(ctx, bucket, key)
		},
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			bucket, key := at(id, in)
			return a.DeleteObject(ctx, bucket, key)
		},
	}
}

func workspaceOf(in graph.Scope) ibm.Workspace {
	return ibm.Workspace{Zone: in[infrav1.KindZone], ID: in[infrav1.KindWorkspace]}
}
