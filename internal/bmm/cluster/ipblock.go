package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/bmm/tag"
	"github.com/bedplate/bedplate/internal/fault"
	"github.com/bedplate/bedplate/internal/graph"
	"github.com/bedplate/bedplate/internal/graph/phases"
)

// ipBlockKind is the kind of the tenant's block, which is never created directly, and of the provider's that it may be
// allocated from.
func ipBlockKind(api *bmm.Client, service *graph.Service) *graph.Kind[bmm.IPBlock] {
	return &graph.Kind[bmm.IPBlock]{
		Name: "IP block", Service: service, Within: []string{kindSite},
		ID:  func(b *bmm.IPBlock) string { return b.ID },
		Tag: ipBlockTag,
		Get: func(ctx context.Context, id string, in graph.Scope) (*bmm.IPBlock, error) {
			return api.IPBlock(ctx, in[kindSite], id)
		},
		Find: func(ctx context.Context, key graph.Key) ([]bmm.IPBlock, error) {
			return api.IPBlocks(ctx, key.Scope[kindSite])
		},
		Phase: ipBlockPhase,
		Delete: func(ctx context.Context, id string, in graph.Scope) error {
			return api.DeleteIPBlock(ctx, in[kindSite], id)
		},
	}
}

// ipBlockTag is that of a provider's block. The tenant's part of it has the name of its allocation, and is deleted with
// that.
func ipBlockTag(b *bmm.IPBlock) graph.Tag {
	if b.TenantID != "" {
		return graph.Tag{}
	}
	return tag.FromName(parentBlockKey, b.Name)
}

func ipBlockPhase(b *bmm.IPBlock) phases.Phase {
	switch {
	case b.ProtocolVersion != bmm.IPv4:
		return phases.Failed("IP block %s is %s: subnets are cut from IPv4 blocks; name another one in spec.ipBlock",
			b.Name, b.ProtocolVersion).Because("WrongIPFamily")
	case b.Status == bmm.IPBlockDeleting:
		return phases.Deleting()
	case b.Status != bmm.IPBlockReady:
		return phases.Waiting("IP block %s is %s", b.Name, b.Status)
	}
	return phases.Ready()
}

func (n *networks) wantIPBlock() *graph.Handle[bmm.IPBlock] {
	ref := n.object.Spec.IPBlock
	after, by := []graph.Ref{n.site}, "the only one"
	if ref != nil {
		by = "name " + ref.Name
	}
	claim := graph.UseFound(by, func(ctx context.Context) (string, error) { return n.findIPBlock(ctx, ref) })
	switch {
	case n.allocation != nil:
		after = append(after, n.allocation)
		allocation := func() string { return "allocation " + n.allocation.ID() } // known when it is ready, maybe in this reconcile
		claim = graph.UseFoundBy(allocation, func(context.Context) (string, error) { return allocatedBlock(n.allocation.Object()) })
	case ref != nil && ref.ID != "":
		claim = graph.Use(ref.ID)
	}
	return graph.Add(n.graph, n.kinds.IPBlock, graph.Want[bmm.IPBlock]{
		Key: ipBlockKey, Condition: infrav1.ReferencesResolvedCondition, After: after, Claim: claim,
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
		if b.ProtocolVersion != bmm.IPv4 || (b.TenantID != "" && b.TenantID != n.object.Spec.TenantID) {
			continue
		}
		if (ref == nil && b.TenantID != "") || (ref != nil && b.Name == ref.Name) {
			ids, names = append(ids, b.ID), append(names, b.Name)
		}
	}
	switch {
	case len(ids) == 1:
		return ids[0], nil
	case len(ids) == 0 && ref == nil:
		return "", cannotFind("the tenant has no IPv4 block at site %s: ask the provider for an allocation", n.siteID())
	case len(ids) == 0:
		return "", cannotFind("there is no IPv4 block named %q at site %s: correct spec.ipBlock.name", ref.Name, n.siteID())
	default:
		return "", cannotFind("several IPv4 blocks would do (%s): choose one by its ID in spec.ipBlock.id",
			strings.Join(names, ", "))
	}
}

func cannotFind(format string, args ...any) error {
	return &fault.Error{Class: fault.Invalid, Op: "find IP block", Err: fmt.Errorf(format, args...)}
}

// fits refuses a range that can't be cut from the block: the BMM API chooses the range itself, so a range elsewhere
// is a mistake in the spec.
func fits(what, name, wanted string, length int, block *bmm.IPBlock) error {
	within, err := netip.ParsePrefix(cidr(block.Prefix, block.PrefixLength))
	if err != nil {
		return nil //nolint:nilerr // what isn't understood here is the BMM API's to judge
	}
	if length < within.Bits() {
		return fault.Invalidf("%s %q: /%d is larger than IP block %s (%s): replace it by another one, of another name, with a longer "+
			"prefix", what, name, length, block.Name, within)
	}
	if wanted == "" {
		return nil
	}
	if prefix, err := netip.ParsePrefix(wanted); err == nil && !within.Contains(prefix.Addr()) {
		return fault.Invalidf("%s %q: %s lies outside of IP block %s (%s): replace it by another one, of another name, with a range "+
			"within it, or with prefixLength, which leaves the range to the BMM API", what, name, wanted, block.Name, within)
	}
	return nil
}

// ipBlockLock is that of the service: it creates one subnet or prefix of a tenant and an IP block at a time, and refuses
// others.
func (n *networks) ipBlockLock() string {
	return "IP block " + n.ipBlock.ID() + " of " + n.api.Tenancy()
}
