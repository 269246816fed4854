package client

import (
	"context"

	"github.com/IBM-Cloud/power-go-client/power/client/p_cloud_networks"
	dhcp "github.com/IBM-Cloud/power-go-client/power/client/p_cloud_service_d_h_c_p"
	"github.com/IBM-Cloud/power-go-client/power/models"
	"github.com/go-openapi/strfmt"
)

// Workspace says where something of PowerVS is: the ID of an Instance, and its zone.
type Workspace struct{ Zone, ID string }

// DHCPServer gives out the addresses of a network of its own.
type DHCPServer struct {
	ID string `json:"id"`
	// Status is BUILD, ACTIVE or ERROR.
	Status  string      `json:"status"`
	Network DHCPNetwork `json:"network"`
	// Leases are shown by Client.DHCPServer only.
	Leases []Lease `json:"leases"`
}

// DHCPNetwork is the network of a DHCP server. A server has no name of its own: that of its network is DHCPNetworkName.
type DHCPNetwork struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Lease is an address that a DHCP server has given out.
type Lease struct {
	IP  string `json:"instanceIP"`
	MAC string `json:"instanceMacAddress"`
}

// DHCPNetworkName is the name of the network that a DHCP server of a name has.
func DHCPNetworkName(server string) string { return "DHCPSERVER" + server + "_Private" }

// DHCPServerRequest is what CreateDHCPServer takes. Of empty fields the service chooses the value.
type DHCPServerRequest struct {
	Name, CIDR, DNSServer string
	SNAT                  *bool
}

// DHCPServers returns the servers of a workspace, without their leases.
func (c *Client) DHCPServers(ctx context.Context, in Workspace) ([]DHCPServer, error) {
	return listInWorkspace[DHCPServer](ctx, c, in, "list DHCP servers", "", func(ctx context.Context, to *powerAPI) error {
		p := dhcp.NewPcloudDhcpGetallParamsWithContext(ctx)
		p.CloudInstanceID = in.ID
		return drained(to.dhcp().PcloudDhcpGetall(p, to.in))
	})
}

// DHCPServer returns a server with its leases.
func (c *Client) DHCPServer(ctx context.Context, in Workspace, id string) (*DHCPServer, error) {
	return get[DHCPServer](ctx, c, c.inWorkspace(in, "get DHCP server", func(ctx context.Context, to *powerAPI) error {
		p := dhcp.NewPcloudDhcpGetParamsWithContext(ctx)
		p.CloudInstanceID, p.DhcpID = in.ID, id
		return drained(to.dhcp().PcloudDhcpGet(p, to.in))
	}, id), id)
}

// CreateDHCPServer makes a server and its network. Conflict means that a network of the name exists, Quota that the workspace may not have
// another server.
func (c *Client) CreateDHCPServer(ctx context.Context, in Workspace, request DHCPServerRequest) (*DHCPServer, error) {
	return create[DHCPServer](ctx, c, c.inWorkspace(in, "create DHCP server", func(ctx context.Context, to *powerAPI) error {
		p := dhcp.NewPcloudDhcpPostParamsWithContext(ctx)
		p.CloudInstanceID = in.ID
		p.Body = &models.DHCPServerCreate{
			Name: optional(request.Name), Cidr: optional(request.CIDR), DNSServer: optional(request.DNSServer), SnatEnabled: request.SNAT,
		}
		return drained(to.dhcp().PcloudDhcpPost(p, to.in))
	}))
}

// DeleteDHCPServer starts the deletion of a server and of its network. It is over when DHCPServer answers NotFound. Busy means that
// virtual servers are in the network.
func (c *Client) DeleteDHCPServer(ctx context.Context, in Workspace, id string) error {
	return c.ask(ctx, c.inWorkspace(in, "delete DHCP server", func(ctx context.Context, to *powerAPI) error {
		p := dhcp.NewPcloudDhcpDeleteParamsWithContext(ctx)
		p.CloudInstanceID, p.DhcpID = in.ID, id
		return drained(to.dhcp().PcloudDhcpDelete(p, to.in))
	}, id))
}

// Network is a network of a workspace.
type Network struct {
	ID   string `json:"networkID"`
	Name string `json:"name"`
	// Type is such as vlan or pub-vlan.
	Type string `json:"type"`
	// DHCPManaged says that a DHCP server gives out the addresses.
	DHCPManaged bool `json:"dhcpManaged"`
	// CIDR, Gateway and DNSServers are shown by Client.Network only.
	CIDR       string   `json:"cidr"`
	Gateway    string   `json:"gateway"`
	DNSServers []string `json:"dnsServers"`
}

// Networks returns the networks of a workspace.
func (c *Client) Networks(ctx context.Context, in Workspace) ([]Network, error) {
	return listInWorkspace[Network](ctx, c, in, "list networks", "networks", func(ctx context.Context, to *powerAPI) error {
		p := p_cloud_networks.NewPcloudNetworksGetallParamsWithContext(ctx)
		p.CloudInstanceID = in.ID
		return drained(to.networks().PcloudNetworksGetall(p, to.in))
	})
}

// Network returns a network.
func (c *Client) Network(ctx context.Context, in Workspace, id string) (*Network, error) {
	return get[Network](ctx, c, c.inWorkspace(in, "get network", func(ctx context.Context, to *powerAPI) error {
		p := p_cloud_networks.NewPcloudNetworksGetParamsWithContext(ctx)
		p.CloudInstanceID, p.NetworkID = in.ID, id
		return drained(to.networks().PcloudNetworksGet(p, to.in))
	}, id), id)
}

func (a *powerAPI) dhcp() dhcp.ClientService { return dhcp.New(a.power, strfmt.Default) }
func (a *powerAPI) networks() p_cloud_networks.ClientService {
	return p_cloud_networks.New(a.power, strfmt.Default)
}
