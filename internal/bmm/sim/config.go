package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/bedplate/bedplate/internal/simulator"
)

// Config is the world that a simulator starts with, and how fast time passes in it.
type Config struct {
	// Org and APIName are segments of every path.
	Org     string `json:"org"`
	APIName string `json:"apiName"`
	// Release is the one that is simulated: Release106 or Release150, the default.
	Release string `json:"release,omitempty"`
	// Tokens are the bearer tokens that are valid at first, and TokenRoles what those may do that don't have all roles.
	Tokens     []string          `json:"tokens"`
	TokenRoles map[string][]Role `json:"tokenRoles,omitempty"`
	// OAuth issues more of them.
	OAuth OAuth `json:"oauth,omitzero"`
	// ProviderID is the infrastructure provider of the organisation; default DefaultProviderID.
	ProviderID string `json:"providerId,omitempty"`
	Tenant     Tenant `json:"tenant"`
	// OtherTenants have objects at the sites as well, and can be given allocations.
	OtherTenants []Tenant `json:"otherTenants,omitempty"`
	// FirstUse means that the organisation has no tenant until the current one is requested.
	FirstUse      bool           `json:"firstUse,omitempty"`
	Sites         []Site         `json:"sites"`
	IPBlocks      []IPBlock      `json:"ipBlocks"`
	InstanceTypes []InstanceType `json:"instanceTypes"`

	// What clients can only refer to.
	OperatingSystems        []OperatingSystem     `json:"operatingSystems,omitempty"`
	SSHKeyGroups            []SSHKeyGroup         `json:"sshKeyGroups,omitempty"`
	InfiniBandPartitions    []Partition           `json:"infinibandPartitions,omitempty"`
	NVLinkLogicalPartitions []Partition           `json:"nvlinkLogicalPartitions,omitempty"`
	DPUExtensionServices    []DPUExtensionService `json:"dpuExtensionServices,omitempty"`

	// Objects are made before the first client comes, in this order.
	Objects []Object `json:"objects,omitempty"`

	// Connections are those of the service to its database; default that of the release: 4 for 1.5.0, any number (-1) for
	// 1.0.6.
	Connections int `json:"connections,omitempty"`
	// Abandoned is what becomes of a create whose client leaves; default that of the release: atSite for 1.5.0, committed for
	// 1.0.6.
	Abandoned Abandoned `json:"abandoned,omitempty"`

	// Speed is the number of simulated seconds per real second; 1 is real time.
	Speed float64 `json:"speed,omitempty"`
	// Seed makes what is random repeatable.
	Seed  uint64 `json:"seed,omitempty"`
	Times Times  `json:"times,omitzero"`
}

// Load reads a world from a YAML file. Unknown fields are an error.
func Load(path string) (Config, error) {
	return simulator.Load(path, Config{}, Config.check)
}

func (c Config) check() error {
	_, err := c.complete()
	return err
}

// complete fills in defaults and checks that the parts fit together.
func (c Config) complete() (Config, error) {
	if c.APIName == "" {
		c.APIName = Carbide
	}
	if c.Release == "" {
		c.Release = Release150
	}
	if c.Speed == 0 {
		c.Speed = 1
	}
	if c.ProviderID == "" {
		c.ProviderID = DefaultProviderID
	}
	c.Times.setDefaults()
	if c.Org == "" || c.Tenant.ID == "" || len(c.Sites) == 0 || len(c.Tokens)+len(c.OAuth.Clients) == 0 {
		return c, errors.New("org, tenant, sites, and tokens or oauth must be set")
	}
	if c.APIName != Carbide && c.APIName != NICo {
		return c, fmt.Errorf("unknown apiName %q: it is %s or %s", c.APIName, Carbide, NICo)
	}
	release, supported := dialects[c.Release]
	if !supported {
		return c, fmt.Errorf("unknown release %q: it is %s or %s", c.Release, Release106, Release150)
	}
	c.Connections, c.Abandoned = cmp.Or(c.Connections, release.connections), cmp.Or(c.Abandoned, release.abandoned)
	if err := c.Abandoned.validate(); err != nil {
		return c, err
	}
	if c.Speed < 0 || c.Times.InstanceMax.Duration < c.Times.InstanceMin.Duration {
		return c, errors.New("speed must be positive and instanceMax at least instanceMin")
	}
	if max(c.Times.InventoryPhase.Duration, c.Times.InventoryDelay.Duration) > c.Times.Inventory.Duration {
		return c, errors.New("inventoryPhase and inventoryDelay must be at most inventory")
	}
	return c, errors.Join(c.checkRoles(), c.checkPlaces())
}

func (c Config) checkRoles() error {
	for token, roles := range c.TokenRoles {
		if !slices.Contains(c.Tokens, token) || !known(roles) {
			return errors.New("tokenRoles must be roles of tokens")
		}
	}
	for _, client := range c.OAuth.Clients {
		if client.ID == "" || client.Secret == "" || !known(client.Roles) {
			return fmt.Errorf("OAuth client %q must have an ID, a secret, and roles that exist", client.ID)
		}
	}
	return nil
}

// checkPlaces checks that everything is at a site that exists.
func (c Config) checkPlaces() error {
	sites := map[string]bool{}
	for _, site := range c.Sites {
		sites[site.ID] = true
	}
	for _, block := range c.IPBlocks {
		prefix := block.prefix()
		isNetwork := prefix.IsValid() && prefix.Addr().Is4() && prefix == prefix.Masked()
		if !sites[block.SiteID] || !isNetwork {
			return fmt.Errorf("IP block %q must be an IPv4 network at a known site", block.Name)
		}
	}
	for _, instanceType := range c.InstanceTypes {
		if !sites[instanceType.SiteID] {
			return fmt.Errorf("instance type %q must be at a known site", instanceType.Name)
		}
	}
	for _, partition := range slices.Concat(c.InfiniBandPartitions, c.NVLinkLogicalPartitions) {
		if !sites[partition.SiteID] {
			return fmt.Errorf("partition %q must be at a known site", partition.Name)
		}
	}
	for _, service := range c.DPUExtensionServices {
		if !sites[service.SiteID] {
			return fmt.Errorf("DPU extension service %q must be at a known site", service.Name)
		}
	}
	return nil
}
