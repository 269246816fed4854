package client

import "context"

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
	return nil, errSurface
}

// DHCPServer returns a server with its leases.
func (c *Client) DHCPServer(ctx context.Context, in Workspace, id string) (*DHCPServer, error) {
	return nil, errSurface
}

// CreateDHCPServer makes a server and its network. Conflict means that a network of the name exists, Quota that the workspace may not have
// another server.
func (c *Client) CreateDHCPServer(ctx context.Context, in Workspace, request DHCPServerRequest) (*DHCPServer, error) {
	return nil, errSurface
}

// DeleteDHCPServer starts the deletion of a server and of its network. It is over when DHCPServer answers NotFound. Busy means that
// virtual servers are in the network.
func (c *Client) DeleteDHCPServer(ctx context.Context, in Workspace, id string) error {
	return errSurface
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
	return nil, errSurface
}

// Network returns a network.
func (c *Client) Network(ctx context.Context, in Workspace, id string) (*Network, error) {
	return nil, errSurface
}
