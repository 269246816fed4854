package client

// This file reads what an instance may refer to and this client never changes. The operators' and tenants' own tools make
// these objects; here they are looked up, so that a missing one can be named.

import (
	"context"

	"github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// OperatingSystem returns an operating system of the tenant's. It belongs to no site; that of the caller proves NotFound.
func (c *Client) OperatingSystem(ctx context.Context, siteID, id string) (*OperatingSystem, error) {
	return get[OperatingSystem](ctx, c, "get operating system", siteID, with((*gen.Client).GetOperatingSystem, id))
}

// OperatingSystems returns the operating systems of the tenant that the site has.
func (c *Client) OperatingSystems(ctx context.Context, siteID string) ([]OperatingSystem, error) {
	return list[OperatingSystem](ctx, c, "list operating systems", func(p page) send {
		return with((*gen.Client).ListOperatingSystems, &gen.ListOperatingSystemsParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order, SiteID: optional(siteID)})
	})
}

// SSHKeyGroup returns a group of SSH keys of the tenant's. It belongs to no site; that of the caller proves NotFound.
func (c *Client) SSHKeyGroup(ctx context.Context, siteID, id string) (*SSHKeyGroup, error) {
	return get[SSHKeyGroup](ctx, c, "get SSH key group", siteID, with((*gen.Client).GetSSHKeyGroup, id))
}

// SSHKeyGroups returns the groups of SSH keys of the tenant that the site has.
func (c *Client) SSHKeyGroups(ctx context.Context, siteID string) ([]SSHKeyGroup, error) {
	return list[SSHKeyGroup](ctx, c, "list SSH key groups", func(p page) send {
		return with((*gen.Client).ListSSHKeyGroups, &gen.ListSSHKeyGroupsParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order, SiteID: optional(siteID)})
	})
}

// InfiniBandPartition returns an InfiniBand partition of the site.
func (c *Client) InfiniBandPartition(ctx context.Context, siteID, id string) (*InfiniBandPartition, error) {
	return get[InfiniBandPartition](ctx, c, "get InfiniBand partition", siteID, with((*gen.Client).GetInfiniBandPartition, id))
}

// InfiniBandPartitions returns the InfiniBand partitions that the tenant has at the site.
func (c *Client) InfiniBandPartitions(ctx context.Context, siteID string) ([]InfiniBandPartition, error) {
	return list[InfiniBandPartition](ctx, c, "list InfiniBand partitions", func(p page) send {
		return with((*gen.Client).ListInfiniBandPartitions, &gen.ListInfiniBandPartitionsParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order, SiteID: optional(siteID)})
	})
}

// NVLinkLogicalPartition returns an NVLink logical partition of the site.
func (c *Client) NVLinkLogicalPartition(ctx context.Context, siteID, id string) (*NVLinkLogicalPartition, error) {
	return get[NVLinkLogicalPartition](ctx, c, "get NVLink logical partition", siteID,
		with((*gen.Client).GetNVLinkLogicalPartition, id))
}

// NVLinkLogicalPartitions returns the NVLink logical partitions that the tenant has at the site.
func (c *Client) NVLinkLogicalPartitions(ctx context.Context, siteID string) ([]NVLinkLogicalPartition, error) {
	return list[NVLinkLogicalPartition](ctx, c, "list NVLink logical partitions", func(p page) send {
		return with((*gen.Client).ListNVLinkLogicalPartitions, &gen.ListNVLinkLogicalPartitionsParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order, SiteID: optional(siteID)})
	})
}

// DPUExtensionService returns a DPU extension service of the site.
func (c *Client) DPUExtensionService(ctx context.Context, siteID, id string) (*DPUExtensionService, error) {
	return get[DPUExtensionService](ctx, c, "get DPU extension service", siteID, with((*gen.Client).GetDPUExtensionService, id))
}

// DPUExtensionServices returns the DPU extension services that the tenant has at the site.
func (c *Client) DPUExtensionServices(ctx context.Context, siteID string) ([]DPUExtensionService, error) {
	return list[DPUExtensionService](ctx, c, "list DPU extension services", func(p page) send {
		return with((*gen.Client).ListDPUExtensionServices, &gen.ListDPUExtensionServicesParams{
			PageNumber: p.number, PageSize: p.size, OrderBy: p.order, SiteID: optional(siteID)})
	})
}
