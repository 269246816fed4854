package client

import "context"

// VPC is a virtual private cloud.
type VPC struct {
	ID   string `json:"id"`
	CRN  string `json:"crn"`
	Name string `json:"name"`
	// Status is pending, available, deleting or failed.
	Status               string    `json:"status"`
	ResourceGroup        Reference `json:"resource_group"`
	DefaultSecurityGroup Reference `json:"default_security_group"`
}

// RegionZones returns the names of the zones of a region of VPC.
func (c *Client) RegionZones(ctx context.Context, region string) ([]string, error) {
	return nil, errSurface
}

// VPCs returns the VPCs of a region.
func (c *Client) VPCs(ctx context.Context, region string) ([]VPC, error) { return nil, errSurface }

// VPC returns a VPC.
func (c *Client) VPC(ctx context.Context, region, id string) (*VPC, error) { return nil, errSurface }

// CreateVPC makes a VPC. Conflict means that another one of the region has the name.
func (c *Client) CreateVPC(ctx context.Context, region, name, resourceGroupID string) (*VPC, error) {
	return nil, errSurface
}

// DeleteVPC starts the deletion of a VPC and of its security groups. It is over when VPC answers NotFound. Busy means that something is in
// it.
func (c *Client) DeleteVPC(ctx context.Context, region, id string) error { return errSurface }

// Subnet is a range of a VPC's addresses in one zone.
type Subnet struct {
	ID   string `json:"id"`
	CRN  string `json:"crn"`
	Name string `json:"name"`
	CIDR string `json:"ipv4_cidr_block"`
	// Status is pending, available, deleting or failed.
	Status string    `json:"status"`
	VPC    Reference `json:"vpc"`
	Zone   Zonal     `json:"zone"`
}

// Zonal is a zone by its name.
type Zonal struct {
	Name string `json:"name"`
}

// SubnetRequest is what CreateSubnet takes. Without a CIDR the service chooses one of DefaultSubnetAddresses.
type SubnetRequest struct{ Name, VPCID, Zone, CIDR, ResourceGroupID string }

// DefaultSubnetAddresses is how many addresses a subnet has for which no range was asked.
const DefaultSubnetAddresses = 256

// Subnets returns the subnets of a VPC: names are unique there only.
func (c *Client) Subnets(ctx context.Context, region, vpcID string) ([]Subnet, error) {
	return nil, errSurface
}

// Subnet returns a subnet.
func (c *Client) Subnet(ctx context.Context, region, id string) (*Subnet, error) {
	return nil, errSurface
}

// CreateSubnet makes a subnet. Conflict means that another one of the VPC has the name; Busy, that the VPC isn't available.
func (c *Client) CreateSubnet(ctx context.Context, region string, request SubnetRequest) (*Subnet, error) {
	return nil, errSurface
}

// DeleteSubnet starts the deletion of a subnet. It is over when Subnet answers NotFound. Busy means that something is in it.
func (c *Client) DeleteSubnet(ctx context.Context, region, id string) error { return errSurface }
