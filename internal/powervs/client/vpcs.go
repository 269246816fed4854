package client

import (
	"context"
	"slices"

	"github.com/IBM/vpc-go-sdk/vpcv1"
	"k8s.io/utils/ptr"
)

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
	r := call{place: place{ServiceVPC, region}, op: "list zones"}
	all, err := list[Zonal](ctx, c, r, "zones", func(ctx context.Context, to *api, _ *string) error {
		return drained2(to.vpc.ListRegionZonesWithContext(ctx, &vpcv1.ListRegionZonesOptions{RegionName: &region}))
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, zone := range all {
		names = append(names, zone.Name)
	}
	return names, nil
}

// VPCs returns the VPCs of a region.
func (c *Client) VPCs(ctx context.Context, region string) ([]VPC, error) {
	r := call{place: place{ServiceVPC, region}, op: "list VPCs"}
	return list[VPC](ctx, c, r, "vpcs", func(ctx context.Context, to *api, start *string) error {
		return drained2(to.vpc.ListVpcsWithContext(ctx, &vpcv1.ListVpcsOptions{Limit: ptr.To[int64](pageSize), Start: start}))
	})
}

// VPC returns a VPC.
func (c *Client) VPC(ctx context.Context, region, id string) (*VPC, error) {
	return get[VPC](ctx, c, call{
		place: place{ServiceVPC, region}, op: "get VPC", ids: []string{id}, control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.GetVPCWithContext(ctx, &vpcv1.GetVPCOptions{ID: &id}))
		},
	}, id)
}

// CreateVPC makes a VPC. Conflict means that another one of the region has the name.
func (c *Client) CreateVPC(ctx context.Context, region, name, resourceGroupID string) (*VPC, error) {
	return create[VPC](ctx, c, call{
		place: place{ServiceVPC, region}, op: "create VPC", control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.CreateVPCWithContext(ctx, &vpcv1.CreateVPCOptions{Name: &name, ResourceGroup: inGroup(resourceGroupID)}))
		},
	})
}

// DeleteVPC starts the deletion of a VPC and of its security groups. It is over when VPC answers NotFound. Busy means that something is in
// it.
func (c *Client) DeleteVPC(ctx context.Context, region, id string) error {
	return c.ask(ctx, call{
		place: place{ServiceVPC, region}, op: "delete VPC", ids: []string{id}, control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return statusOf(to.vpc.DeleteVPCWithContext(ctx, &vpcv1.DeleteVPCOptions{ID: &id}))
		},
	})
}

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
	r := call{place: place{ServiceVPC, region}, op: "list subnets", ids: []string{vpcID}}
	all, err := list[Subnet](ctx, c, r, "subnets", func(ctx context.Context, to *api, start *string) error {
		return drained2(to.vpc.ListSubnetsWithContext(ctx, &vpcv1.ListSubnetsOptions{
			VPCID: &vpcID, Limit: ptr.To[int64](pageSize), Start: start,
		}))
	})
	return slices.DeleteFunc(all, func(s Subnet) bool { return s.VPC.ID != vpcID }), err
}

// Subnet returns a subnet.
func (c *Client) Subnet(ctx context.Context, region, id string) (*Subnet, error) {
	return get[Subnet](ctx, c, call{
		place: place{ServiceVPC, region}, op: "get subnet", ids: []string{id}, control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.GetSubnetWithContext(ctx, &vpcv1.GetSubnetOptions{ID: &id}))
		},
	}, id)
}

// CreateSubnet makes a subnet. Conflict means that another one of the VPC has the name; Busy, that the VPC isn't available.
func (c *Client) CreateSubnet(ctx context.Context, region string, request SubnetRequest) (*Subnet, error) {
	prototype := &vpcv1.SubnetPrototype{
		Name: &request.Name, VPC: &vpcv1.VPCIdentity{ID: &request.VPCID}, Zone: &vpcv1.ZoneIdentity{Name: &request.Zone},
		Ipv4CIDRBlock: optional(request.CIDR), ResourceGroup: inGroup(request.ResourceGroupID),
	}
	if request.CIDR == "" {
		prototype.TotalIpv4AddressCount = ptr.To[int64](DefaultSubnetAddresses)
	}
	return create[Subnet](ctx, c, call{
		place: place{ServiceVPC, region}, op: "create subnet", control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return drained2(to.vpc.CreateSubnetWithContext(ctx, &vpcv1.CreateSubnetOptions{SubnetPrototype: prototype}))
		},
	})
}

// DeleteSubnet starts the deletion of a subnet. It is over when Subnet answers NotFound. Busy means that something is in it.
func (c *Client) DeleteSubnet(ctx context.Context, region, id string) error {
	return c.ask(ctx, call{
		place: place{ServiceVPC, region}, op: "delete subnet", ids: []string{id}, control: c.vpcAnswers(region),
		send: func(ctx context.Context, to *api) error {
			return statusOf(to.vpc.DeleteSubnetWithContext(ctx, &vpcv1.DeleteSubnetOptions{ID: &id}))
		},
	})
}

func inGroup(id string) vpcv1.ResourceGroupIdentityIntf { return &vpcv1.ResourceGroupIdentity{ID: &id} }

// vpcAnswers is the control call of VPC.
func (c *Client) vpcAnswers(region string) func(context.Context) error {
	return func(ctx context.Context) error {
		return c.do(ctx, call{
			place: place{ServiceVPC, region}, op: "list VPCs", read: (&listing[VPC]{key: "vpcs"}).read,
			send: func(ctx context.Context, to *api) error {
				return drained2(to.vpc.ListVpcsWithContext(ctx, &vpcv1.ListVpcsOptions{Limit: ptr.To[int64](1)}))
			},
		})
	}
}
