package sim

import "slices"

// The values of Config.APIName: the releases that can be simulated.
const (
	Carbide = "carbide"
	NICo    = "nico"
)

// dialect is what differs between the releases.
type dialect struct {
	version    string
	rolePrefix string
	// connections and abandoned are the defaults of Config.
	connections int
	abandoned   Abandoned
}

var dialects = map[string]dialect{
	Carbide: {version: "1.0.6", rolePrefix: "FORGE_", connections: -1, abandoned: AbandonedCommitted},
	NICo:    {version: "1.5.0", connections: defaultConnections, abandoned: AbandonedAtSite},
}

// Role is what a token may do. Tokens name it as their release does: Carbide puts FORGE_ before it.
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
