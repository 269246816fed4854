package client

// This file gives the generated types their names in this package. A newer server may know more states than these.

import "github.com/bedplate/bedplate/internal/bmm/client/gen"

type (
	// Tenant is the owner of the token.
	Tenant = gen.Tenant
	// Site is a data centre.
	Site = gen.Site
	// IPBlock is a range that subnets and VPC prefixes are cut from.
	IPBlock = gen.IPBlock
	// Allocation is what a provider gives a tenant.
	Allocation = gen.Allocation
	// VPC is a network of its own at one site.
	VPC = gen.VPC
	// VPCPeering connects two VPCs.
	VPCPeering = gen.VPCPeering
	// Subnet is a range within an Ethernet VPC.
	Subnet = gen.Subnet
	// VPCPrefix is a range within an FNN VPC.
	VPCPrefix = gen.VPCPrefix
	// NetworkSecurityGroup says what traffic a VPC or an instance accepts.
	NetworkSecurityGroup = gen.NetworkSecurityGroup
	// NetworkSecurityGroupRule is a rule of a NetworkSecurityGroup.
	NetworkSecurityGroupRule = gen.NetworkSecurityGroupRule
	// InstanceType is a kind of machine.
	InstanceType = gen.InstanceType
	// Machine is a server of a site, in use or not.
	Machine = gen.Machine
	// MachineCapability is what a Machine, or those of an InstanceType, have of one kind.
	MachineCapability = gen.MachineCapability
	// MachineHealthIssue is what is wrong with a machine, as described by its user.
	MachineHealthIssue = gen.MachineHealthIssue
	// MachineHealthIssueCategory says what part of a machine is bad.
	MachineHealthIssueCategory = gen.MachineHealthIssueCategory
	// Instance is a machine in use.
	Instance = gen.Instance
	// Interface is a network interface of an Instance.
	Interface = gen.Interface
	// NVLinkInterface is an NVLink interface of an Instance.
	NVLinkInterface = gen.NVLinkInterface
	// Labels are key-value pairs that full text queries find.
	Labels = gen.Labels
)

// Requests.
type (
	// IPBlockCreateRequest is what CreateIPBlock takes.
	IPBlockCreateRequest = gen.IPBlockCreateRequest
	// AllocationCreateRequest is what CreateAllocation takes.
	AllocationCreateRequest = gen.AllocationCreateRequest
	// AllocationConstraintCreateRequest is the one constraint of an AllocationCreateRequest.
	AllocationConstraintCreateRequest = gen.AllocationConstraintCreateRequest
	// VPCCreateRequest is what CreateVPC takes.
	VPCCreateRequest = gen.VPCCreateRequest
	// VPCUpdateRequest is what UpdateVPC takes.
	VPCUpdateRequest = gen.VPCUpdateRequest
	// VPCPeeringCreateRequest is what CreateVPCPeering takes.
	VPCPeeringCreateRequest = gen.VPCPeeringCreateRequest
	// SubnetCreateRequest is what CreateSubnet takes.
	SubnetCreateRequest = gen.SubnetCreateRequest
	// SubnetUpdateRequest is what UpdateSubnet takes.
	SubnetUpdateRequest = gen.SubnetUpdateRequest
	// VPCPrefixCreateRequest is what CreateVPCPrefix takes.
	VPCPrefixCreateRequest = gen.VPCPrefixCreateRequest
	// VPCPrefixUpdateRequest is what UpdateVPCPrefix takes.
	VPCPrefixUpdateRequest = gen.VPCPrefixUpdateRequest
	// NetworkSecurityGroupCreateRequest is what CreateNetworkSecurityGroup takes.
	NetworkSecurityGroupCreateRequest = gen.NetworkSecurityGroupCreateRequest
	// NetworkSecurityGroupUpdateRequest is what UpdateNetworkSecurityGroup takes.
	NetworkSecurityGroupUpdateRequest = gen.NetworkSecurityGroupUpdateRequest
	// InstanceCreateRequest is what CreateInstance takes.
	InstanceCreateRequest = gen.InstanceCreateRequest
	// InstanceUpdateRequest is what UpdateInstance takes.
	InstanceUpdateRequest = gen.InstanceUpdateRequest
	// InstanceDeleteRequest is the body of the deletion of an instance.
	InstanceDeleteRequest = gen.InstanceDeleteRequest
	// InterfaceCreateRequest is an interface of an InstanceCreateRequest.
	InterfaceCreateRequest = gen.InterfaceCreateRequest
	// InfiniBandInterfaceCreateRequest is an InfiniBand interface of an InstanceCreateRequest.
	InfiniBandInterfaceCreateRequest = gen.InfiniBandInterfaceCreateRequest
	// NVLinkInterfaceCreateRequest is an NVLink interface of an InstanceCreateRequest.
	NVLinkInterfaceCreateRequest = gen.NVLinkInterfaceCreateRequest
	// DPUExtensionServiceDeploymentRequest is a DPU extension service of an InstanceCreateRequest.
	DPUExtensionServiceDeploymentRequest = gen.DPUExtensionServiceDeploymentRequest
)

// What the fields of these types may be.
type (
	// AllocationStatus is the state of an Allocation.
	AllocationStatus = gen.AllocationStatus
	// IPBlockRoutingType says who can reach an IP block.
	IPBlockRoutingType = gen.IPBlockRoutingType
	// NetworkVirtualizationType is the type of a VPC.
	NetworkVirtualizationType = gen.NetworkVirtualizationType
	// VPCStatus is the state of a VPC.
	VPCStatus = gen.VPCStatus
	// VPCPeeringStatus is the state of a VPCPeering.
	VPCPeeringStatus = gen.VPCPeeringStatus
	// SubnetStatus is the state of a Subnet.
	SubnetStatus = gen.SubnetStatus
	// VPCPrefixStatus is the state of a VPCPrefix.
	VPCPrefixStatus = gen.VPCPrefixStatus
	// NetworkSecurityGroupStatus is the state of a NetworkSecurityGroup.
	NetworkSecurityGroupStatus = gen.NetworkSecurityGroupStatus
	// RuleDirection is the direction of a NetworkSecurityGroupRule.
	RuleDirection = gen.NetworkSecurityGroupRuleDirection
	// RuleProtocol is the protocol of a NetworkSecurityGroupRule.
	RuleProtocol = gen.NetworkSecurityGroupRuleProtocol
	// RuleAction is what a NetworkSecurityGroupRule does.
	RuleAction = gen.NetworkSecurityGroupRuleAction
	// InstanceStatus is the state of an Instance.
	InstanceStatus = gen.InstanceStatus
	// MachineCapabilityType is the kind of a MachineCapability.
	MachineCapabilityType = gen.MachineCapabilityType
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
	VPCPending  = gen.VPCStatusPending
	VPCReady    = gen.VPCStatusReady
	VPCDeleting = gen.VPCStatusDeleting
	VPCError    = gen.VPCStatusError
)

// States of a VPC peering.
const (
	VPCPeeringRequested = gen.VPCPeeringStatusRequested
	VPCPeeringReady     = gen.VPCPeeringStatusReady
	VPCPeeringDeleting  = gen.VPCPeeringStatusDeleting
	VPCPeeringError     = gen.VPCPeeringStatusError
)

// States of a subnet.
const (
	SubnetPending = gen.SubnetStatusPending
	SubnetReady   = gen.SubnetStatusReady
)

// VPCPrefixReady is the state of a VPC prefix that can be used.
const VPCPrefixReady = gen.VPCPrefixStatusReady

// NetworkSecurityGroupReady is the state of a network security group that can be used.
const NetworkSecurityGroupReady = gen.NetworkSecurityGroupStatusReady

// PropagationError says that a network security group doesn't get to the instances.
const PropagationError = gen.NetworkSecurityGroupPropagationStatusError

// What a rule of a network security group consists of.
const (
	RuleIngress = gen.NetworkSecurityGroupRuleDirectionINGRESS
	RuleEgress  = gen.NetworkSecurityGroupRuleDirectionEGRESS

	RuleTCP  = gen.NetworkSecurityGroupRuleProtocolTCP
	RuleUDP  = gen.NetworkSecurityGroupRuleProtocolUDP
	RuleICMP = gen.NetworkSecurityGroupRuleProtocolICMP
	RuleAny  = gen.NetworkSecurityGroupRuleProtocolANY

	RulePermit = gen.NetworkSecurityGroupRuleActionPERMIT
	RuleDeny   = gen.NetworkSecurityGroupRuleActionDENY
)

// States of an instance.
const (
	InstancePending     = gen.InstanceStatusPending
	InstanceConfiguring = gen.InstanceStatusConfiguring
	InstanceReady       = gen.InstanceStatusReady
	InstanceUpdating    = gen.InstanceStatusUpdating
	InstanceRepairing   = gen.InstanceStatusRepairing
	InstanceRebooting   = gen.InstanceStatusRebooting
	InstanceTerminating = gen.InstanceStatusTerminating
	InstanceTerminated  = gen.InstanceStatusTerminated
	InstanceError       = gen.InstanceStatusError
	InstanceUnknown     = gen.InstanceStatusUnknown
)

// States of an IP block, and what its addresses are.
const (
	IPBlockReady    = gen.IPBlockStatusReady
	IPBlockDeleting = gen.IPBlockStatusDeleting

	IPv4 = gen.IPBlockProtocolVersionIPv4

	RoutingPublic = gen.IPBlockRoutingTypePublic
)

// States of an allocation, and what it is of.
const (
	AllocationRegistered = gen.AllocationStatusRegistered

	AllocationOfIPBlock = gen.AllocationResourceTypeIPBlock
	AllocationReserved  = gen.AllocationConstraintTypeReserved
)

// Kinds of capabilities of machines.
const (
	CapabilityCPU        = gen.MachineCapabilityTypeCPU
	CapabilityMemory     = gen.MachineCapabilityTypeMemory
	CapabilityGPU        = gen.MachineCapabilityTypeGPU
	CapabilityStorage    = gen.MachineCapabilityTypeStorage
	CapabilityNetwork    = gen.MachineCapabilityTypeNetwork
	CapabilityInfiniBand = gen.MachineCapabilityTypeInfiniBand
)

// What may be wrong with a machine.
const (
	IssueHardware    = gen.MachineHealthIssueCategoryHardware
	IssueNetwork     = gen.MachineHealthIssueCategoryNetwork
	IssuePerformance = gen.MachineHealthIssueCategoryPerformance
	IssueOther       = gen.MachineHealthIssueCategoryOther
)
