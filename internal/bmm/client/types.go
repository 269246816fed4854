package client

// This file gives the generated types their names in this package. A newer server may know more states than these.

import "github.com/bedplate/bedplate/internal/bmm/client/gen"

type (
	// Tenant is who the token belongs to.
	Tenant = gen.Tenant
	// Site is a data centre.
	Site = gen.Site
	// IPBlock is a range of the tenant's that subnets are cut from.
	IPBlock = gen.IPBlock
	// VPC is a network of its own at one site.
	VPC = gen.VPC
	// Subnet is a range within a VPC.
	Subnet = gen.Subnet
	// InstanceType is a kind of machine.
	InstanceType = gen.InstanceType
	// Instance is a machine in use.
	Instance = gen.Instance
	// Interface is a network interface of an Instance.
	Interface = gen.Interface
	// Labels are key-value pairs that full text queries find.
	Labels = gen.Labels

	// VPCCreateRequest is what CreateVPC takes.
	VPCCreateRequest = gen.VPCCreateRequest
	// SubnetCreateRequest is what CreateSubnet takes.
	SubnetCreateRequest = gen.SubnetCreateRequest
	// InstanceCreateRequest is what CreateInstance takes.
	InstanceCreateRequest = gen.InstanceCreateRequest
	// InterfaceCreateRequest is an interface of an InstanceCreateRequest.
	InterfaceCreateRequest = gen.InterfaceCreateRequest

	// NetworkVirtualizationType is the type of a VPC.
	NetworkVirtualizationType = gen.NetworkVirtualizationType
	// SiteStatus is the state of a Site.
	SiteStatus = gen.SiteStatus
	// VPCStatus is the state of a VPC.
	VPCStatus = gen.VPCStatus
	// SubnetStatus is the state of a Subnet.
	SubnetStatus = gen.SubnetStatus
	// InstanceStatus is the state of an Instance.
	InstanceStatus = gen.InstanceStatus
)

// Types of VPCs.
const (
	EthernetVirtualizer = gen.NetworkVirtualizationTypeETHERNETVIRTUALIZER
	FNN                 = gen.NetworkVirtualizationTypeFNN
)

// SiteRegistered is the state of a site that can be used.
const SiteRegistered = gen.SiteStatusRegistered

// States of a VPC.
const (
	VPCPending      = gen.VPCStatusPending
	VPCProvisioning = gen.VPCStatusProvisioning
	VPCReady        = gen.VPCStatusReady
	VPCConfiguring  = gen.VPCStatusConfiguring
	VPCDeleting     = gen.VPCStatusDeleting
	VPCError        = gen.VPCStatusError
)

// States of a subnet.
const (
	SubnetPending      = gen.SubnetStatusPending
	SubnetProvisioning = gen.SubnetStatusProvisioning
	SubnetReady        = gen.SubnetStatusReady
	SubnetDeleting     = gen.SubnetStatusDeleting
	SubnetError        = gen.SubnetStatusError
)

// States of an instance.
const (
	InstancePending      = gen.InstanceStatusPending
	InstanceProvisioning = gen.InstanceStatusProvisioning
	InstanceConfiguring  = gen.InstanceStatusConfiguring
	InstanceReady        = gen.InstanceStatusReady
	InstanceUpdating     = gen.InstanceStatusUpdating
	InstanceRepairing    = gen.InstanceStatusRepairing
	InstanceRebooting    = gen.InstanceStatusRebooting
	InstanceTerminating  = gen.InstanceStatusTerminating
	InstanceTerminated   = gen.InstanceStatusTerminated
	InstanceError        = gen.InstanceStatusError
	InstanceUnknown      = gen.InstanceStatusUnknown
)

// States of an IP block, and what its addresses are.
const (
	IPBlockReady = gen.IPBlockStatusReady
	IPv4         = gen.IPBlockProtocolVersionIPv4
)
