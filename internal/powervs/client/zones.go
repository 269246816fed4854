package client

import (
	"context"
	"slices"

	"github.com/IBM-Cloud/power-go-client/power/client/datacenters"
	"github.com/go-openapi/strfmt"
)

// EdgeRouter is the capability of a zone whose workspaces can be connected to a transit gateway (PER).
const EdgeRouter = "power-edge-router"

// Zone is a data centre of PowerVS.
type Zone struct {
	Name         string
	Capabilities map[string]bool
	// SystemTypes are those that a server can have there; empty if the service doesn't say.
	SystemTypes []string
}

// Can reports whether a zone has a capability.
func (z Zone) Can(capability string) bool { return z.Capabilities[capability] }

// Offers reports whether servers can have a system type.
func (z Zone) Offers(systemType string) bool { return slices.Contains(z.SystemTypes, systemType) }

// Zone asks for a zone. Invalid means that there is none of the name.
func (c *Client) Zone(ctx context.Context, name string) (*Zone, error) {
	found, err := get[zoneAnswer](ctx, c, call{
		place: place{ServicePowerVS, PowerVSRegion(name)}, op: "get zone", ids: []string{name},
		control: func(context.Context) error { return errNoList }, // one that doesn't exist is 400
		send: func(ctx context.Context, to *api) error {
			p := datacenters.NewV1DatacentersGetParamsWithContext(ctx)
			p.DatacenterRegion = name
			return drained(datacenters.New(to.power, strfmt.Default).V1DatacentersGet(p))
		},
	}, name)
	if err != nil {
		return nil, err
	}
	systems := found.Details.Systems
	types := slices.Concat(systems.General, systems.Dedicated)
	slices.Sort(types)
	return &Zone{Name: name, Capabilities: found.Capabilities, SystemTypes: slices.Compact(types)}, nil
}

// zoneAnswer is a zone as the service shows it: it calls the name a region.
type zoneAnswer struct {
	Location struct {
		Region string `json:"region"`
	} `json:"location"`
	Capabilities map[string]bool `json:"capabilities"`
	Details      struct {
		Systems struct {
			General   []string `json:"general"`
			Dedicated []string `json:"dedicated"`
		} `json:"supportedSystems"`
	} `json:"capabilitiesDetails"`
}
