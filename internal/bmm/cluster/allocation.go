package cluster

import (
	"context"
	"fmt"
	"net/netip"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// wantParentBlock adds a block of the provider's. Only credentials with the provider's rights can create one.
func (n *networks) wantParentBlock(spec *infrav1.IPBlockCreateSpec) *graph.Handle[bmm.IPBlock] {
	return graph.Add(n.graph, n.kinds.IPBlock, graph.Want[bmm.IPBlock]{
		Key: parentBlockKey + "/" + n.object.Name, Condition: infrav1.IPBlockReadyCondition, After: []graph.Ref{n.site},
		Create: func(_ context.Context, key graph.Key) (graph.Call[bmm.IPBlock], error) {
			prefix, err := netip.ParsePrefix(spec.Prefix)
			if err != nil {
				return nil, fault.Invalidf("spec.ipBlock.create.prefix: %w", err)
			}
			request := bmm.IPBlockCreateRequest{
				Name: tag.Name(key), SiteID: n.siteID(), RoutingType: bmm.IPBlockRoutingType(spec.RoutingType),
				Prefix: prefix.Addr().String(), PrefixLength: prefix.Bits(), ProtocolVersion: bmm.IPv4,
			}
			return func(ctx context.Context) (*bmm.IPBlock, error) {
				block, err := n.api.CreateIPBlock(ctx, request)
				return block, needsProvider(err)
			}, nil
		},
		Update: func(b *bmm.IPBlock) graph.Update { return graph.Update{Refused: checkParentBlock(spec, b)} },
	})
}

// checkParentBlock compares what only a create can set: the spec may have been changed while the block was being created.
func checkParentBlock(spec *infrav1.IPBlockCreateSpec, b *bmm.IPBlock) error {
	if has := cidr(b.Prefix, b.PrefixLength); has != spec.Prefix {
		return fault.Invalidf("IP block %s has the range %s, and this can't be changed: set spec.ipBlock.create.prefix to that, or make "+
			"another cluster", b.ID, has)
	}
	if b.RoutingType != "" && string(b.RoutingType) != string(spec.RoutingType) {
		return fault.Invalidf("IP block %s has the routing type %s, and this can't be changed: set spec.ipBlock.create.routingType to that, "+
			"or make another cluster", b.ID, b.RoutingType)
	}
	return nil
}

// needsProvider says what to do about credentials without the provider's rights. They are good for all else.
func needsProvider(err error) error {
	if !bmm.LacksRole(err) {
		return err
	}
	return fault.Invalidf("%w: spec.ipBlock.create needs credentials with the role PROVIDER_ADMIN; as a tenant name an existing block "+
		"instead", err)
}

func allocationKind(api *bmm.Client, service *graph.Service) *graph.Kind[bmm.Allocation] {
	return &graph.Kind[bmm.Allocation]{
		Name: "allocation", Service: service, Within: []string{kindSite},
		ID:  func(a *bmm.Allocation) string { return a.ID },
		Tag: func(a *bmm.Allocation) graph.Tag { return tag.FromName(allocationKey, a.Name) },
		Get: func(ctx context.Context, id string, in graph.Scope) (*bmm.Allocation, error) {
			return api.Allocation(ctx, in[kindSite], id)
		},
		Find: func(ctx context.Context, key graph.Key) ([]bmm.Allocation, error) {
			return api.Allocations(ctx, bmm.AllocationFilter{SiteID: key.Scope[kindSite], Query: key.Owner})
		},
		Phase: func(a *bmm.Allocation) phases.Phase {
			return phaseOf("allocation", a.Name, a.ID, a.Status, bmm.AllocationRegistered)
		},
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteAllocation(ctx, in[kindSite], id)
		},
	}
}

// wantAllocation gives the whole of the parent block to the tenant.
func (n *networks) wantAllocation(spec *infrav1.IPBlockCreateSpec) *graph.Handle[bmm.Allocation] {
	return graph.Add(n.graph, n.kinds.Allocation, graph.Want[bmm.Allocation]{
		Key: allocationKey + "/" + n.object.Name, Condition: infrav1.IPBlockReadyCondition, After: []graph.Ref{n.parentBlock},
		Create: func(_ context.Context, key graph.Key) (graph.Call[bmm.Allocation], error) {
			prefix, err := netip.ParsePrefix(spec.Prefix)
			if err != nil {
				return nil, fault.Invalidf("spec.ipBlock.create.prefix: %w", err)
			}
			request := bmm.AllocationCreateRequest{
				Name: tag.Name(key), TenantID: n.object.Spec.TenantID, SiteID: n.siteID(),
				AllocationConstraints: []bmm.AllocationConstraintCreateRequest{{
					ResourceType: bmm.AllocationOfIPBlock, ResourceTypeID: n.parentBlock.ID(),
					ConstraintType: bmm.AllocationReserved, ConstraintValue: prefix.Bits(),
				}},
			}
			return func(ctx context.Context) (*bmm.Allocation, error) {
				allocation, err := n.api.CreateAllocation(ctx, request)
				return allocation, needsProvider(err)
			}, nil
		},
	})
}

// allocatedBlock is the tenant's block that an allocation has created.
func allocatedBlock(a *bmm.Allocation) (string, error) {
	for _, constraint := range a.AllocationConstraints {
		if constraint.ResourceType == bmm.AllocationOfIPBlock && constraint.DerivedResourceID != "" {
			return constraint.DerivedResourceID, nil
		}
	}
	return "", &fault.Error{Class: fault.Busy, Err: fmt.Errorf("allocation %s (%s) hasn't made its IP block yet", a.Name, a.ID)}
}
