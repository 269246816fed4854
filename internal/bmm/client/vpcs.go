package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/fault"
)

// CreateVPC creates a VPC. The caller may choose its ID, once: an ID that was ever used is a Conflict or Transient. A
// server of the first releases ignores the choice, so the ID in the answer counts.
func (c *Client) CreateVPC(ctx context.Context, request VPCCreateRequest) (*VPC, error) {
	return create[VPC](ctx, c, "create VPC", request.SiteID, with((*gen.Client).CreateVPC, request))
}

// VPC returns a VPC of the site.
func (c *Client) VPC(ctx context.Context, siteID, id string) (*VPC, error) {
	return get[VPC](ctx, c, "get VPC", siteID, id, (*gen.Client).GetVPC)
}

// VPCFilter selects VPCs. Empty fields select all.
type VPCFilter struct {
	SiteID string
	// Query is a full text search over names and labels.
	Query string
}

// VPCs returns the VPCs of the tenant that the filter selects.
func (c *Client) VPCs(ctx context.Context, filter VPCFilter) ([]VPC, error) {
	return list[VPC](ctx, c, "list VPCs", func(p page) send {
		return with((*gen.Client).ListVpcs, &gen.ListVpcsParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order,
			SiteID: optional(filter.SiteID), Query: optional(filter.Query)})
	})
}

// UpdateVPC changes the fields of a VPC of the site that the request has. An empty networkSecurityGroupId detaches the
// group.
func (c *Client) UpdateVPC(ctx context.Context, siteID, id string, request VPCUpdateRequest) (*VPC, error) {
	return update[VPC](ctx, c, "update VPC", siteID, id, with2((*gen.Client).UpdateVPC, id, request))
}

// DeleteVPC starts the deletion of a VPC of the site. It is over when VPC answers NotFound. Busy means that
// subnets, prefixes or instances are left.
func (c *Client) DeleteVPC(ctx context.Context, siteID, id string) error {
	return c.remove(ctx, "delete VPC", siteID, with((*gen.Client).DeleteVPC, id))
}

// peerings makes a call about VPC peerings, which the first releases don't have: there the path is wrong, and that is
// Invalid. So that a server that is being upgraded isn't taken for one, it has to say so twice, and its release in
// between.
func peerings[T any](ctx context.Context, c *Client, call func() (T, error)) (T, error) {
	answer, err := call()
	if !errors.Is(err, errWrongPath) {
		return answer, err
	}
	release := gen.Metadata{}
	unknown := c.do(ctx, request{op: opMetadata, send: plain((*gen.Client).GetMetadata)}, &release)
	if unknown != nil || release.Version == "" {
		return answer, err
	}
	if answer, err = call(); errors.Is(err, errWrongPath) {
		err = fault.Invalidf("this release (%s) has no VPC peerings", release.Version)
	}
	return answer, err
}

// CreateVPCPeering connects two VPCs of the site. Conflict, without an OtherID, means that they are already; Invalid,
// that a VPC doesn't exist or is another tenant's; Busy, that one isn't ready.
func (c *Client) CreateVPCPeering(ctx context.Context, request VPCPeeringCreateRequest) (*VPCPeering, error) {
	return peerings(ctx, c, func() (*VPCPeering, error) {
		return create[VPCPeering](ctx, c, "create VPC peering", request.SiteID, with((*gen.Client).CreateVPCPeering, request))
	})
}

// ofPeering are the rules for calls about one peering. The service also answers 404 for an existing peering, when one of
// its VPCs is gone: the site has dropped the peering with the VPC, and the service does with its next inventory.
var ofPeering = []rule{
	{http.StatusNotFound, []string{"could not find vpc peering"}, fault.NotFound},
	{http.StatusNotFound, []string{"could not find vpc with id"}, fault.Busy},
	{http.StatusNotFound, []string{""}, fault.Transient},
}

// VPCPeering returns a peering at the site. Busy means that one of its VPCs is gone, and the peering isn't yet.
func (c *Client) VPCPeering(ctx context.Context, siteID, id string) (*VPCPeering, error) {
	return peerings(ctx, c, func() (*VPCPeering, error) {
		peering := &VPCPeering{}
		r := request{op: "get VPC peering", id: id, rules: ofPeering, send: with((*gen.Client).GetVPCPeering, id)}
		if err := c.ask(ctx, siteID, r, peering); err != nil {
			return nil, err
		}
		return peering, nil
	})
}

// VPCPeerings returns all peerings of the tenant's VPCs at the site.
func (c *Client) VPCPeerings(ctx context.Context, siteID string) ([]VPCPeering, error) {
	return peerings(ctx, c, func() ([]VPCPeering, error) {
		return list[VPCPeering](ctx, c, "list VPC peerings", func(p page) send {
			return with((*gen.Client).ListVPCPeerings, &gen.ListVPCPeeringsParams{
				PageNumber: p.number, PageSize: p.size, OrderBy: p.order, SiteID: optional(siteID)})
		})
	})
}

// DeleteVPCPeering starts the deletion of a peering at the site. It is over when VPCPeering answers NotFound. Busy means that
// one of its VPCs is gone, and the peering isn't yet.
func (c *Client) DeleteVPCPeering(ctx context.Context, siteID, id string) error {
	return c.ask(ctx, siteID, request{
		op: "delete VPC peering", site: siteID, rules: ofPeering, send: with((*gen.Client).DeleteVPCPeering, id),
	}, nil)
}
