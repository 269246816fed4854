package sim

import (
	"context"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"time"
)

// token is a bearer token that the service knows.
type token struct {
	value string
	roles []Role
	// expires is in real time; zero means never.
	expires time.Time
}

// setTokens replaces all tokens. Server.mu is held.
func (s *Server) setTokens(values []string) {
	s.tokens = nil
	for _, value := range values {
		roles, limited := s.config.TokenRoles[value]
		if !limited {
			roles = allRoles()
		}
		s.tokens = append(s.tokens, token{value: value, roles: roles})
	}
}

// authenticate returns the roles of the caller.
func (s *Server) authenticate(r *http.Request) ([]Role, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return nil, refuse(http.StatusUnauthorized, "Request is missing authorization header")
	}
	value, isBearer := strings.CutPrefix(header, "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		if !isBearer || subtle.ConstantTimeCompare([]byte(value), []byte(t.value)) != 1 {
			continue
		}
		if !t.expires.IsZero() && !time.Now().Before(t.expires) {
			return nil, refuse(http.StatusUnauthorized, "Authorization token in request has expired")
		}
		return t.roles, nil
	}
	return nil, refuse(http.StatusUnauthorized, "Invalid authorization token in request")
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
