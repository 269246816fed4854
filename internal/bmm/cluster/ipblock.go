package cluster

import (
	"context"
	"fmt"
	"strings"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
)

func (n *networks) newIPBlockKind() *graph.Kind[bmm.IPBlock] {
	return &graph.Kind[bmm.IPBlock]{
		Name: "IP block",
		ID:   func(b *bmm.IPBlock) string { return b.ID },
		Get: func(ctx context.Context, id string) (*bmm.IPBlock, error) {
			return n.api.IPBlock(ctx, n.siteID(), id)
		},
		Phase: ipBlockPhase,
	}
}

func ipBlockPhase(b *bmm.IPBlock) graph.Phase {
	switch {
	case b.ProtocolVersion != bmm.IPv4:
		return graph.Failed("IP block %s is %s: subnets are cut from IPv4 blocks; name another one in spec.ipBlock",
			b.Name, b.ProtocolVersion).Because("WrongIPFamily")
	case b.Status != bmm.IPBlockReady:
		return graph.Waiting("IP block %s is %s", b.Name, b.Status)
	}
	return graph.Ready()
}

func (n *networks) wantIPBlock(object *infrav1.NvidiaBMMCluster) *graph.Handle[bmm.IPBlock] {
	ref := object.Spec.IPBlock
	claim := graph.UseFound(func(ctx context.Context) (string, error) { return n.findIPBlock(ctx, ref) })
	if ref != nil && ref.ID != "" {
		claim = graph.Use(ref.ID)
	}
	return graph.Add(n.graph, n.ipBlockKind, graph.Want[bmm.IPBlock]{
		Key: ipBlockKey, Condition: infrav1.ReferencesResolvedCondition, After: []graph.Ref{n.site}, Claim: claim,
	})
}

// findIPBlock returns the ID of the block of that name, or of the tenant's only one.
func (n *networks) findIPBlock(ctx context.Context, ref *infrav1.IPBlockReference) (string, error) {
	blocks, err := n.api.IPBlocks(ctx, n.siteID())
	if err != nil {
		return "", err
	}
	var ids, names []string
	for _, b := range blocks {
		if b.ProtocolVersion == bmm.IPv4 && (ref == nil || b.Name == ref.Name) {
			ids, names = append(ids, b.ID), append(names, b.Name)
		}
	}
	switch {
	case len(ids) == 1:
		return ids[0], nil
	case len(ids) == 0 && ref == nil:
		return "", invalid("the tenant has no IPv4 block at site %s: ask the provider for an allocation", n.siteID())
	case len(ids) == 0:
		return "", invalid("there is no IPv4 block named %q at site %s: correct spec.ipBlock.name", ref.Name, n.siteID())
	default:
		return "", invalid("several IPv4 blocks would do (%s): choose one by its ID in spec.ipBlock.id", strings.Join(names, ", "))
	}
}

func invalid(format string, args ...any) error {
	return &fault.Error{Class: fault.Invalid, Op: "find IP block", Err: fmt.Errorf(format, args...)}
}
