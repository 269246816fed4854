package sim

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Zone is a data centre of Power Virtual Servers.
type Zone struct {
	// Name is such as dal10, and Region such as us-south.
	Name   string `json:"name"`
	Region string `json:"region"`
	// Capabilities are such as power-edge-router.
	Capabilities map[string]bool `json:"capabilities,omitempty"`
	// SystemTypes are those that servers can have there.
	SystemTypes []string `json:"systemTypes,omitempty"`
}

// EdgeRouter is the capability by which a workspace can be connected to a transit gateway.
const EdgeRouter = "power-edge-router"

// ResourceGroup is a group of the account.
type ResourceGroup struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Default bool   `json:"default,omitempty"`
}

// Instance is a workspace or an instance of Object Storage that no client makes.
type Instance struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Plan is PlanPower or PlanObjectStorage.
	Plan string `json:"plan"`
	// Target is a zone, or global.
	Target   string    `json:"target"`
	Networks []Network `json:"networks,omitempty"`
	Images   []Image   `json:"images,omitempty"`
}

// Network is a network of a workspace that no client makes.
type Network struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	CIDR string `json:"cidr"`
}

// Image is an image of a workspace that no client imports.
type Image struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// What DefaultWorld contains.
const (
	DefaultAccount         = "3c24cb272ca44aa1ac9f6e9490ac5ecd"
	DefaultAPIKey          = "simulator-api-key"
	DefaultResourceGroup   = "Default"
	DefaultResourceGroupID = "fe3c2ccd058e407c81e1dba2b5c0e0d6"
	DefaultZone            = "dal10"
	DefaultSSHKey          = "operators"
)

// DefaultWorld is an account with one resource group and nothing in it. Tests and the lab start from it.
func DefaultWorld() Config {
	systems := []string{"s922", "e980", "s1022", "e1050", "e1080"}
	return Config{
		Account:        DefaultAccount,
		APIKeys:        []APIKey{{Value: DefaultAPIKey, IAMID: "IBMid-270003GUSX"}},
		ResourceGroups: []ResourceGroup{{ID: DefaultResourceGroupID, Name: DefaultResourceGroup, Default: true}},
		Zones: []Zone{
			{Name: DefaultZone, Region: "us-south", Capabilities: map[string]bool{EdgeRouter: true}, SystemTypes: systems},
			{Name: "dal12", Region: "us-south", Capabilities: map[string]bool{EdgeRouter: true}, SystemTypes: systems},
			{Name: "osa21", Region: "osa", Capabilities: map[string]bool{EdgeRouter: false}, SystemTypes: systems[:2]},
		},
		SSHKeys: []string{DefaultSSHKey},
		Speed:   1,
		Times:   DefaultTimes(),
		Quotas:  DefaultQuotas(),
	}
}

// checkWorld checks that the parts fit together.
func (c Config) checkWorld() error {
	if len(c.ResourceGroups) == 0 || len(c.Zones) == 0 {
		return errors.New("resourceGroups and zones must be set")
	}
	for _, i := range c.Instances {
		plan, known := plans[i.Plan]
		if !known || i.ID == "" || !c.offers(plan, i.Target) {
			return fmt.Errorf("instance %q must have an ID, a plan that exists, and a target where that is offered", i.Name)
		}
		for _, n := range i.Networks {
			if prefix, err := netip.ParsePrefix(n.CIDR); err != nil || !prefix.Addr().Is4() || n.ID == "" {
				return fmt.Errorf("network %q must have an ID and an IPv4 CIDR", n.Name)
			}
		}
	}
	return nil
}

func (c Config) zone(name string) (Zone, bool) {
	if i := slices.IndexFunc(c.Zones, func(z Zone) bool { return z.Name == name }); i >= 0 {
		return c.Zones[i], true
	}
	return Zone{}, false
}

func (c Config) resourceGroup(id string) (ResourceGroup, bool) {
	if i := slices.IndexFunc(c.ResourceGroups, func(g ResourceGroup) bool { return g.ID == id }); i >= 0 {
		return c.ResourceGroups[i], true
	}
	return ResourceGroup{}, false
}
