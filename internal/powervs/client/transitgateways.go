package client

import "context"

// TransitGateway is a transit gateway.
type TransitGateway struct {
	ID   string `json:"id"`
	CRN  string `json:"crn"`
	Name string `json:"name"`
	// Location is its region.
	Location string `json:"location"`
	// Global says that networks of other regions can be connected.
	Global bool `json:"global"`
	// Status is pending, available, failed or deleting.
	Status        string    `json:"status"`
	ResourceGroup Reference `json:"resource_group"`
}

// Reference is how something shows another object.
type Reference struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// TransitGatewayRequest is what CreateTransitGateway takes.
type TransitGatewayRequest struct {
	Name, Location  string
	Global          bool
	ResourceGroupID string
}

// TransitGateways returns those of the account, in all regions.
func (c *Client) TransitGateways(ctx context.Context) ([]TransitGateway, error) {
	return nil, errSurface
}

// TransitGateway returns a gateway.
func (c *Client) TransitGateway(ctx context.Context, id string) (*TransitGateway, error) {
	return nil, errSurface
}

// CreateTransitGateway makes a gateway. Conflict means that another one of the account has the name.
func (c *Client) CreateTransitGateway(ctx context.Context, request TransitGatewayRequest) (*TransitGateway, error) {
	return nil, errSurface
}

// DeleteTransitGateway starts the deletion of a gateway. It is over when TransitGateway answers NotFound. Busy means that it has
// connections.
func (c *Client) DeleteTransitGateway(ctx context.Context, id string) error { return errSurface }

// The types of networks that a gateway connects.
const (
	NetworkTypeVPC     = "vpc"
	NetworkTypePowerVS = "power_virtual_server"
)

// Connection connects a network with a transit gateway.
type Connection struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// NetworkType is NetworkTypeVPC, NetworkTypePowerVS or another one.
	NetworkType string `json:"network_type"`
	// NetworkCRN is that of the VPC or of the workspace.
	NetworkCRN string `json:"network_id"`
	// Status is pending, attached, failed, deleting, detached or another one.
	Status string `json:"status"`
}

// ConnectionRequest is what CreateConnection takes.
type ConnectionRequest struct{ Name, NetworkType, NetworkCRN string }

// Connections returns those of a gateway.
func (c *Client) Connections(ctx context.Context, gatewayID string) ([]Connection, error) {
	return nil, errSurface
}

// Connection returns a connection of a gateway. It is gone with the gateway.
func (c *Client) Connection(ctx context.Context, gatewayID, id string) (*Connection, error) {
	return nil, errSurface
}

// CreateConnection connects a network. Conflict means that the name is taken, or that the network is connected already; Busy, that the
// gateway isn't available.
func (c *Client) CreateConnection(ctx context.Context, gatewayID string, request ConnectionRequest) (*Connection, error) {
	return nil, errSurface
}

// DeleteConnection starts the deletion of a connection. It is over when Connection answers NotFound.
func (c *Client) DeleteConnection(ctx context.Context, gatewayID, id string) error { return errSurface }
