package sim

import (
	"context"
	"slices"

	api "github.com/bedplate/bedplate/internal/bmm/client/gen"
)

// The values of Config.APIName: the names that the API has had. An operator may keep the old one.
const (
	Carbide = "carbide"
	NICo    = "nico"
)

// The values of Config.Release: the releases that can be simulated.
const (
	Release106 = "1.0.6"
	Release150 = "1.5.0"
)

// dialect is what differs between the releases.
type dialect struct {
	version    string
	rolePrefix string
	// connections and abandoned are the defaults of Config.
	connections int
	abandoned   Abandoned
	// source of an error message.
	source string
	// first is the release of March 2026. It has no VPC peerings, ignores without an error what it doesn't know, and wants
	// the tenant of each instance.
	first bool
}

var dialects = map[string]dialect{
	Release106: {version: Release106, rolePrefix: "FORGE_", source: "forge", first: true, connections: -1, abandoned: AbandonedCommitted},
	Release150: {version: Release150, source: "nico", connections: defaultConnections, abandoned: AbandonedAtSite},
}

func (s *Server) dialect() dialect { return dialects[s.config.Release] }

// has reports whether there is such a path.
func (d dialect) has(path string) bool {
	return !d.first || !slices.Contains([]string{"/vpc-peering", "/vpc-peering/{id}"}, path)
}

// readVPC returns a request as the release understands it.
func (d dialect) readVPC(request api.VPCCreateRequest) api.VPCCreateRequest {
	if d.first {
		request.RoutingProfile = ""
	}
	return request
}

// readInstance returns a request as the release understands it.
func (d dialect) readInstance(request api.InstanceCreateRequest) (api.InstanceCreateRequest, error) {
	if !d.first {
		return request, nil
	}
	if request.TenantID == "" {
		return request, badField("tenantId", "a value is required")
	}
	request.SecondaryVPCIDs, request.Interfaces = nil, slices.Clone(request.Interfaces)
	for i := range request.Interfaces {
		request.Interfaces[i].IPAddress = ""
	}
	return request, nil
}

type dialectKey struct{}

// in lets errors know the dialect.
func (d dialect) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, dialectKey{}, d)
}

// sourceOf is the component that answers a request.
func sourceOf(ctx context.Context) string {
	d, _ := ctx.Value(dialectKey{}).(dialect)
	return d.source
}

// Role is what a token may do. Tokens name it as their release does: 1.0.6 puts FORGE_ before it.
type Role string

// The roles that matter to the API.
const (
	ProviderAdmin Role = "PROVIDER_ADMIN"
	TenantAdmin   Role = "TENANT_ADMIN"
)

// allRoles are those of a service account.
func allRoles() []Role { return []Role{ProviderAdmin, TenantAdmin} }

func known(roles []Role) bool {
	return !slices.ContainsFunc(roles, func(r Role) bool { return !slices.Contains(allRoles(), r) })
}

// names returns the roles as the release calls them.
func (d dialect) names(roles []Role) []string {
	names := make([]string, 0, len(roles))
	for _, role := range roles {
		names = append(names, d.rolePrefix+string(role))
	}
	return names
}
