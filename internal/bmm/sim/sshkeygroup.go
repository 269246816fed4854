package sim

import (
	"context"
	"net/http"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
	"github.com/bedplate/bedplate/internal/bmm/sim/gen"
)

// ListSSHKeyGroups implements the API. Key groups belong to the tenant, so they are the same at every site.
func (s *Server) ListSSHKeyGroups(
	_ context.Context, r gen.ListSSHKeyGroupsRequestObject,
) (gen.ListSSHKeyGroupsResponseObject, error) {
	p := r.Params
	page, header := pageOf(s.config.SSHKeyGroups, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy, status: p.Status, fullText: p.Query,
	}, s.sshKeyGroupView, func(v api.SSHKeyGroup) row {
		return row{id: v.ID, name: v.Name, status: string(v.Status), created: v.Created}
	})
	headers := gen.ListSSHKeyGroups200ResponseHeaders{XPagination: header}
	return gen.ListSSHKeyGroups200JSONResponse{Body: page, Headers: headers}, nil
}

// GetSSHKeyGroup implements the API.
func (s *Server) GetSSHKeyGroup(
	_ context.Context, r gen.GetSSHKeyGroupRequestObject,
) (gen.GetSSHKeyGroupResponseObject, error) {
	group, found := s.sshKeyGroup(r.ID)
	if !found {
		return nil, refuse(http.StatusNotFound, "Could not find SSH Key Group with specified ID")
	}
	return gen.GetSSHKeyGroup200JSONResponse(s.sshKeyGroupView(group)), nil
}

func (s *Server) sshKeyGroup(id string) (SSHKeyGroup, bool) {
	return byID(s.config.SSHKeyGroups, func(g SSHKeyGroup) string { return g.ID }, id)
}

func (s *Server) sshKeyGroupView(group SSHKeyGroup) api.SSHKeyGroup {
	return api.SSHKeyGroup{
		ID: group.ID, Name: group.Name, TenantID: s.config.Tenant.ID, Status: api.SSHKeyGroupStatusSynced,
		Created: s.state.started, Updated: s.state.started,
	}
}
