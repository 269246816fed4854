package sim

import "net/netip"

// What DefaultWorld contains.
const (
	DefaultOrg            = "acme"
	DefaultToken          = "simulator-token"
	DefaultTenantID       = "7e4a0000-0000-4000-8000-000000000001"
	DefaultSiteID         = "517e0000-0000-4000-8000-000000000001"
	DefaultIPBlockID      = "1b10c000-0000-4000-8000-000000000001"
	DefaultInstanceTypeID = "17fe0000-0000-4000-8000-000000000001"
	DefaultSSHKeyGroupID  = "55e40000-0000-4000-8000-000000000001"
)

// DefaultWorld is one site with one /16 IP block and eight machines of one type. Tests and the lab start from it.
func DefaultWorld() Config {
	return Config{
		Org: DefaultOrg, APIName: "carbide", Tokens: []string{DefaultToken},
		Tenant: Tenant{ID: DefaultTenantID, Name: "acme"},
		Sites:  []Site{{ID: DefaultSiteID, Name: "site-1", Location: "Zurich"}},
		IPBlocks: []IPBlock{{
			ID: DefaultIPBlockID, Name: "block-1", SiteID: DefaultSiteID, TenantID: DefaultTenantID,
			Prefix: netip.MustParseAddr("127.100.0.0"), PrefixLength: 16,
		}},
		InstanceTypes: []InstanceType{{ID: DefaultInstanceTypeID, Name: "cpu.large", SiteID: DefaultSiteID, Machines: 8}},
		SSHKeyGroups:  []SSHKeyGroup{{ID: DefaultSSHKeyGroupID, Name: "operators"}},
		Speed:         1,
		Seed:          1,
		Times:         DefaultTimes(),
	}
}
