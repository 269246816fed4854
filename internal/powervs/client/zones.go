package client

import (
	"context"
	"slices"
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
func (c *Client) Zone(ctx context.Context, name string) (*Zone, error) { return nil, errSurface }
