package sim

import (
	"fmt"
	"slices"
)

// Region is a region of VPC and Transit Gateway.
type Region struct {
	Name  string   `json:"name"`
	Zones []string `json:"zones"`
}

// DefaultRegions are two of the real ones.
func DefaultRegions() []Region {
	return []Region{
		{Name: "us-south", Zones: []string{"us-south-1", "us-south-2", "us-south-3"}},
		{Name: "eu-de", Zones: []string{"eu-de-1", "eu-de-2", "eu-de-3"}},
	}
}

// checkRegions checks that each has a name and zones, for which it has address prefixes.
func (c Config) checkRegions() error {
	for _, r := range c.Regions {
		if r.Name == "" || len(r.Zones) == 0 || len(r.Zones) > maxZones {
			return fmt.Errorf("region %q must have a name and 1 to %d zones", r.Name, maxZones)
		}
	}
	return nil
}

// maxZones are those of which each gets a quarter of a region's addresses.
const maxZones = 4

func (c Config) region(name string) (Region, bool) {
	i := slices.IndexFunc(c.Regions, func(r Region) bool { return r.Name == name })
	if i < 0 {
		return Region{}, false
	}
	return c.Regions[i], true
}
