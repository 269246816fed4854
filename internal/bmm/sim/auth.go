package sim

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/bedplate/bedplate/internal/simulator"
)

// authenticate returns the roles of the caller.
func (s *Server) authenticate(r *http.Request) ([]Role, error) {
	roles, err := s.tokens.Grant(r)
	switch {
	case errors.Is(err, simulator.ErrNoToken):
		return nil, refuse(http.StatusUnauthorized, "Request is missing authorization header")
	case errors.Is(err, simulator.ErrTokenExpired):
		return nil, refuse(http.StatusUnauthorized, "Authorization token in request has expired")
	case err != nil:
		return nil, refuse(http.StatusUnauthorized, "Invalid authorization token in request")
	}
	return roles, nil
}

// forProviders are the operations that only providers may do, forAnyone those that either role is enough for. All others
// are for tenants.
var (
	forProviders = []string{"createIpBlock", "deleteIpBlock", "createAllocation", "deleteAllocation"}
	forAnyone    = []string{
		"getMetadata", "getCurrentServiceAccount", "listSites", "getSite", "listIpBlocks", "getIpBlock",
		"listAllocations", "getAllocation", "listInstanceTypes", "getInstanceType", "listMachines", "getMachine",
		"listVpcPeerings", "createVpcPeering", "getVpcPeering", "deleteVpcPeering",
	}
)

// authorize refuses an operation that the roles don't allow.
func authorize(operationID string, roles []Role) error {
	switch {
	case slices.Contains(forAnyone, operationID) && len(roles) > 0:
	case slices.Contains(forProviders, operationID):
		if !slices.Contains(roles, ProviderAdmin) {
			return refuse(http.StatusForbidden, "User does not have Provider Admin role with org")
		}
	case !slices.Contains(roles, TenantAdmin):
		return refuse(http.StatusForbidden, "User does not have Tenant Admin role with org")
	}
	return nil
}

type rolesKey struct{}

func withRoles(ctx context.Context, roles []Role) context.Context {
	return context.WithValue(ctx, rolesKey{}, roles)
}

// has reports whether the caller has a role.
func has(ctx context.Context, role Role) bool {
	roles, _ := ctx.Value(rolesKey{}).([]Role)
	return slices.Contains(roles, role)
}
