package client

import (
	"context"

	tg "github.com/IBM/networking-go-sdk/transitgatewayapisv1"
	"k8s.io/utils/ptr"
)

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
	r := call{place: place{service: ServiceTransitGateway}, op: "list transit gateways"}
	return list[TransitGateway](ctx, c, r, "transit_gateways", func(ctx context.Context, to *api, start *string) error {
		return drained2(to.transit.ListTransitGatewaysWithContext(ctx, &tg.ListTransitGatewaysOptions{
			Limit: ptr.To[int64](pageSize), Start: start,
		}))
	})
}

// TransitGateway returns a gateway.
func (c *Client) TransitGateway(ctx context.Context, id string) (*TransitGateway, error) {
	return get[TransitGateway](ctx, c, call{
		place: place{service: ServiceTransitGateway}, op: "get transit gateway", ids: []string{id}, control: c.transitAnswers,
		send: func(ctx context.Context, to *api) error {
			return drained2(to.transit.GetTransitGatewayWithContext(ctx, &tg.GetTransitGatewayOptions{ID: &id}))
		},
	}, id)
}

// CreateTransitGateway makes a gateway. Conflict means that another one of the account has the name.
func (c *Client) CreateTransitGateway(ctx context.Context, request TransitGatewayRequest) (*TransitGateway, error) {
	return create[TransitGateway](ctx, c, call{
		place: place{service: ServiceTransitGateway}, op: "create transit gateway", control: c.transitAnswers,
		send: func(ctx context.Context, to *api) error {
			return drained2(to.transit.CreateTransitGatewayWithContext(ctx, &tg.CreateTransitGatewayOptions{
				Name: &request.Name, Location: &request.Location, Global: &request.Global,
				ResourceGroup: &tg.ResourceGroupIdentity{ID: &request.ResourceGroupID},
			}))
		},
	})
}

// DeleteTransitGateway starts the deletion of a gateway. It is over when TransitGateway answers NotFound. Busy means that it has
// connections.
func (c *Client) DeleteTransitGateway(ctx context.Context, id string) error {
	return c.ask(ctx, call{
		place: place{service: ServiceTransitGateway}, op: "delete transit gateway", ids: []string{id}, control: c.transitAnswers,
		send: func(ctx context.Context, to *api) error {
			return statusOf(to.transit.DeleteTransitGatewayWithContext(ctx, &tg.DeleteTransitGatewayOptions{ID: &id}))
		},
	})
}

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
	r := call{
		place: place{service: ServiceTransitGateway}, op: "list transit gateway connections", ids: []string{gatewayID},
		control: ifGone(c.gateway(gatewayID)),
	}
	return list[Connection](ctx, c, r, "connections", func(ctx context.Context, to *api, start *string) error {
		return drained2(to.transit.ListTransitGatewayConnectionsWithContext(ctx, &tg.ListTransitGatewayConnectionsOptions{
			TransitGatewayID: &gatewayID, Limit: ptr.To[int64](pageSize), Start: start,
		}))
	})
}

// Connection returns a connection of a gateway. It is gone with the gateway.
func (c *Client) Connection(ctx context.Context, gatewayID, id string) (*Connection, error) {
	return get[Connection](ctx, c, call{
		place: place{service: ServiceTransitGateway}, op: "get transit gateway connection", ids: []string{gatewayID, id},
		control: within(c.gateway(gatewayID), nil),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.transit.GetTransitGatewayConnectionWithContext(ctx, &tg.GetTransitGatewayConnectionOptions{
				TransitGatewayID: &gatewayID, ID: &id,
			}))
		},
	}, id)
}

// CreateConnection connects a network. Conflict means that the name is taken, or that the network is connected already; Busy, that the
// gateway isn't available.
func (c *Client) CreateConnection(ctx context.Context, gatewayID string, request ConnectionRequest) (*Connection, error) {
	return create[Connection](ctx, c, call{
		place: place{service: ServiceTransitGateway}, op: "create transit gateway connection", ids: []string{gatewayID},
		control: c.transitAnswers,
		send: func(ctx context.Context, to *api) error {
			return drained2(to.transit.CreateTransitGatewayConnectionWithContext(ctx, &tg.CreateTransitGatewayConnectionOptions{
				TransitGatewayID: &gatewayID, Name: &request.Name, NetworkType: &request.NetworkType, NetworkID: &request.NetworkCRN,
			}))
		},
	})
}

// DeleteConnection starts the deletion of a connection. It is over when Connection answers NotFound.
func (c *Client) DeleteConnection(ctx context.Context, gatewayID, id string) error {
	return c.ask(ctx, call{
		place: place{service: ServiceTransitGateway}, op: "delete transit gateway connection", ids: []string{gatewayID, id},
		control: within(c.gateway(gatewayID), nil),
		send: func(ctx context.Context, to *api) error {
			return statusOf(to.transit.DeleteTransitGatewayConnectionWithContext(ctx, &tg.DeleteTransitGatewayConnectionOptions{
				TransitGatewayID: &gatewayID, ID: &id,
			}))
		},
	})
}

// gateway asks whether there is a gateway.
func (c *Client) gateway(id string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.TransitGateway(ctx, id)
		return err
	}
}

// transitAnswers is the control call of Transit Gateway.
func (c *Client) transitAnswers(ctx context.Context) error {
	return c.do(ctx, call{
		place: place{service: ServiceTransitGateway}, op: "list transit gateways", read: (&listing[TransitGateway]{key: "transit_gateways"}).read,
		send: func(ctx context.Context, to *api) error {
			return drained2(to.transit.ListTransitGatewaysWithContext(ctx, &tg.ListTransitGatewaysOptions{Limit: ptr.To[int64](1)}))
		},
	})
}
