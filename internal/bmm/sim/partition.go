package sim

import (
	"cmp"
	"context"
	"net/http"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// ListInfiniBandPartitions implements the API.
func (s *Server) ListInfiniBandPartitions(
	_ context.Context, r gen.ListInfiniBandPartitionsRequestObject,
) (gen.ListInfiniBandPartitionsResponseObject, error) {
	p := r.Params
	page, header := pageOf(s.ownPartitions(s.config.InfiniBandPartitions), query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, status: p.Status, fullText: p.Query,
	}, s.infiniBandView, func(v api.InfiniBandPartition) row {
		return row{id: v.ID, name: v.Name, siteID: v.SiteID, status: string(v.Status), created: v.Created}
	})
	headers := gen.ListInfiniBandPartitions200ResponseHeaders{XPagination: header}
	return gen.ListInfiniBandPartitions200JSONResponse{Body: page, Headers: headers}, nil
}

// GetInfiniBandPartition implements the API.
func (s *Server) GetInfiniBandPartition(
	_ context.Context, r gen.GetInfiniBandPartitionRequestObject,
) (gen.GetInfiniBandPartitionResponseObject, error) {
	p, err := s.ownPartition(s.config.InfiniBandPartitions, "InfiniBand Partition", r.ID)
	return gen.GetInfiniBandPartition200JSONResponse(s.infiniBandView(p)), err
}

// ListNVLinkLogicalPartitions implements the API.
func (s *Server) ListNVLinkLogicalPartitions(
	_ context.Context, r gen.ListNVLinkLogicalPartitionsRequestObject,
) (gen.ListNVLinkLogicalPartitionsResponseObject, error) {
	p := r.Params
	page, header := pageOf(s.ownPartitions(s.config.NVLinkLogicalPartitions), query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		siteID: p.SiteID, status: p.Status, fullText: p.Query,
	}, s.nvLinkView, func(v api.NVLinkLogicalPartition) row {
		return row{id: v.ID, name: v.Name, siteID: v.SiteID, status: string(v.Status), created: v.Created}
	})
	headers := gen.ListNVLinkLogicalPartitions200ResponseHeaders{XPagination: header}
	return gen.ListNVLinkLogicalPartitions200JSONResponse{Body: page, Headers: headers}, nil
}

// GetNVLinkLogicalPartition implements the API.
func (s *Server) GetNVLinkLogicalPartition(
	_ context.Context, r gen.GetNVLinkLogicalPartitionRequestObject,
) (gen.GetNVLinkLogicalPartitionResponseObject, error) {
	p, err := s.ownPartition(s.config.NVLinkLogicalPartitions, "NVLink Logical Partition", r.ID)
	return gen.GetNVLinkLogicalPartition200JSONResponse(s.nvLinkView(p)), err
}

// checkLogicalPartition checks an NVLink logical partition that a request refers to.
func (s *Server) checkLogicalPartition(id, tenantID string, site Site) error {
	if id == "" {
		return nil
	}
	if !site.NVLinkPartition {
		return bad("Site specified in request data must have NVLink partitioning enabled")
	}
	return s.checkPartition(s.config.NVLinkLogicalPartitions, "NVLink Logical Partition", id, tenantID, site.ID)
}

// checkPartition checks a partition of a request.
func (s *Server) checkPartition(partitions []Partition, what, id, tenantID, siteID string) error {
	p, found := byID(partitions, Partition.id, id)
	switch {
	case !found:
		return bad("Could not find %s with ID: %s specified in request data", what, id)
	case s.ownerOf(p) != tenantID:
		return refuse(http.StatusForbidden, "%s: %s specified in request does not belong to Tenant", what, id)
	case p.SiteID != siteID:
		return refuse(http.StatusForbidden, "%s: %s specified in request does not belong to Site", what, id)
	}
	return nil
}

func (p Partition) id() string { return p.ID }

func (s *Server) ownerOf(p Partition) string { return cmp.Or(p.TenantID, s.config.Tenant.ID) }

func (s *Server) ownPartitions(all []Partition) []Partition {
	var own []Partition
	for _, p := range all {
		if s.ownerOf(p) == s.config.Tenant.ID {
			own = append(own, p)
		}
	}
	return own
}

func (s *Server) ownPartition(all []Partition, what, id string) (Partition, error) {
	p, found := byID(all, Partition.id, id)
	switch {
	case !found:
		return p, refuse(http.StatusNotFound, "Could not find %s with specified ID", what)
	case s.ownerOf(p) != s.config.Tenant.ID:
		return p, refuse(http.StatusForbidden, "%s does not belong to current Tenant", what)
	}
	return p, nil
}

func (s *Server) infiniBandView(p Partition) api.InfiniBandPartition {
	return api.InfiniBandPartition{
		ID: p.ID, Name: p.Name, SiteID: p.SiteID, TenantID: s.ownerOf(p), Status: api.InfiniBandPartitionStatusReady,
		PartitionName: p.Name, Created: s.state.started, Updated: s.state.started,
	}
}

func (s *Server) nvLinkView(p Partition) api.NVLinkLogicalPartition {
	return api.NVLinkLogicalPartition{
		ID: p.ID, Name: p.Name, SiteID: p.SiteID, TenantID: s.ownerOf(p), Status: api.NVLinkLogicalPartitionStatusReady,
		Created: s.state.started, Updated: s.state.started,
	}
}
