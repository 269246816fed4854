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
	var all []api.SSHKeyGroup
	for _, group := range s.config.SSHKeyGroups {
		all = append(all, s.sshKeyGroupView(group))
	}
	p := r.Params
	page, header := selectPage(all, func(v api.SSHKeyGroup) row {
		return row{id: v.ID, name: v.Name, status: string(v.Status), created: v.Created}
	}, query{
		pageNumber: p.PageNumber, pageSize: p.PageSize, orderBy: p.OrderBy,
		status: p.Status, fullText: p.Query,
	})
	headers := gen.ListSSHKeyGroups200ResponseHeaders{XPagination: header}
	return gen.ListSSHKeyGroups200JSONResponse{Body: page, Headers: headers}, nil
}

// GetSSHKeyGroup implements the API.
func (s *Server) GetSSHKeyGroup(
	_ context.Context, r gen.GetSSHKeyGroupRequestObject,
) (gen.GetSSHKeyGroupResponseObject, error) {
	group, err := s.sshKeyGroup(r.ID)
	return gen.GetSSHKeyGroup200JSONResponse(s.sshKeyGroupView(group)), err
}

func (s *Server) sshKeyGroup(id string) (SSHKeyGroup, error) {
	for _, group := range s.config.SSHKeyGroups {
		if group.ID == id {
			return group, nil
		}
	}
	return SSHKeyGroup{}, refuse(http.StatusNotFound, "Could not find SSH Key Group with specified ID")
}

func (s *Server) sshKeyGroupView(group SSHKeyGroup) api.SSHKeyGroup {
	return api.SSHKeyGroup{ID: group.ID, Name: group.Name, TenantID: s.config.Tenant.ID, Status: api.SSHKeyGroupStatusSynced,
		Created: s.state.started, Updated: s.state.started}
}
