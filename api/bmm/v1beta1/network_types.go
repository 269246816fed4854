package v1beta1

// NetworkVirtualizationType says how a site isolates a VPC from others.
//
// +kubebuilder:validation:Enum=ETHERNET_VIRTUALIZER;FNN
type NetworkVirtualizationType string

const (
	// EthernetVirtualizer is virtual Ethernet on OVS and OVN: machines are
	// attached to subnets.
	EthernetVirtualizer NetworkVirtualizationType = "ETHERNET_VIRTUALIZER"
	// FabricNativeNetworking routes in the fabric and the DPUs: machines are
	// attached to VPC prefixes.
	FabricNativeNetworking NetworkVirtualizationType = "FNN"
)

// VPCSpec is the virtual network of a cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !(has(self.name) || has(self.description) || has(self.labels) || has(self.vni) || has(self.routingProfile) || has(self.nvLinkLogicalPartitionId))",message="a VPC of your own is used as it is: with id, remove name, description, labels, vni, routingProfile and nvLinkLogicalPartitionId"
// +kubebuilder:validation:XValidation:rule="!has(self.routingProfile) || self.networkVirtualizationType == 'FNN'",fieldPath=".routingProfile",message="routingProfile goes with networkVirtualizationType FNN only: remove it"
type VPCSpec struct {
	// id is the UUID of a VPC of your own, to be used as it is: it is never
	// changed or deleted. Its type must be networkVirtualizationType. It can't be
	// set or changed once there is a VPC, except to correct what condition VPCReady
	// reports about it.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	ID string `json:"id,omitempty"`

	// name of the VPC, unique within the site. Without it the name of this object
	// is used.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^\S(.*\S)?$`
	Name string `json:"name,omitempty"`

	// networkVirtualizationType says how the site isolates the VPC:
	// ETHERNET_VIRTUALIZER is virtual Ethernet, with subnets; FNN is Fabric Native
	// Networking, with vpcPrefixes. It can't be changed once the VPC exists, except to
	// correct what condition VPCReady reports about it.
	// +optional
	// +kubebuilder:default=ETHERNET_VIRTUALIZER
	NetworkVirtualizationType NetworkVirtualizationType `json:"networkVirtualizationType,omitempty"`

	// description is free text for the people who look at the VPC.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`

	// labels are put on the VPC. Names that begin with "bedplate-" are kept for
	// Bedplate.
	// +optional
	Labels ResourceLabels `json:"labels,omitempty"`

	// vni asks for a certain virtual network identifier; the site must allow that.
	// Without it the site chooses. It can't be changed once the VPC exists, except to
	// correct what condition VPCReady reports about it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	VNI *int32 `json:"vni,omitempty"`

	// routingProfile says what an FNN network is connected to, such as internal,
	// external or privileged-internal, for tenants that may choose. It can't be
	// changed once the VPC exists, except to correct what condition VPCReady reports about
	// it.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9-]*$`
	RoutingProfile string `json:"routingProfile,omitempty"`

	// nvLinkLogicalPartitionId is the UUID of the NVLink logical partition that
	// the GPUs of the instances join; an instance can't name another one. It
	// can't be taken away from instances that use it: the site refuses that.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	NVLinkLogicalPartitionID string `json:"nvLinkLogicalPartitionId,omitempty"`

	// networkSecurityGroup filters the traffic of the machines. It is attached to
	// the VPC, or, where that is your own, to the instances. Without it nothing is
	// filtered. It can be added, changed and removed at any time; what others
	// change in it is put back.
	// +optional
	NetworkSecurityGroup *NetworkSecurityGroupSpec `json:"networkSecurityGroup,omitempty"`
}

// ResourceLabels are labels of a BMM resource, which has room for ten; three
// are Bedplate's.
//
// +kubebuilder:validation:MaxProperties=7
// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('bedplate-'))",message="labels that begin with bedplate- are reserved: choose other names"
// +kubebuilder:validation:XValidation:rule="self.all(k, size(k.trim()) > 0 && size(k) <= 255)",message="names of labels have 1 to 255 characters"
type ResourceLabels map[string]LabelValue

// LabelValue is the value of a label of a BMM resource.
//
// +kubebuilder:validation:MaxLength=255
type LabelValue string

// IPBlockReference names an IP block by name or by ID, or has one made.
//
// +kubebuilder:validation:XValidation:rule="[has(self.name), has(self.id), has(self.create)].exists_one(x, x)",message="exactly one of name, id and create must be set"
type IPBlockReference struct {
	// name is the block's name at the cluster's site.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// id is the block's UUID.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	ID string `json:"id,omitempty"`

	// create is for credentials with the rights of the site's provider: the block
	// and its allocation to the tenant are made for the cluster, and deleted with
	// it.
	// +optional
	Create *IPBlockCreateSpec `json:"create,omitempty"`
}

// IPBlockRoutingType says how far the addresses of an IP block are routed.
//
// +kubebuilder:validation:Enum=Public;DatacenterOnly
type IPBlockRoutingType string

// Routing types of IP blocks.
const (
	RoutingPublic         IPBlockRoutingType = "Public"
	RoutingDatacenterOnly IPBlockRoutingType = "DatacenterOnly"
)

// IPBlockCreateSpec is an IP block to make.
type IPBlockCreateSpec struct {
	// prefix is the range of the block, such as 10.0.0.0/16.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4 && cidr(self) == cidr(self).masked() && cidr(self).prefixLength() >= 8 && cidr(self).prefixLength() <= 31",message="prefix must be an IPv4 range with a prefix length between 8 and 31, and no bits set behind it"
	Prefix string `json:"prefix,omitempty"`

	// routingType says how far the addresses are routed: Public or DatacenterOnly.
	// +optional
	// +kubebuilder:default=DatacenterOnly
	RoutingType IPBlockRoutingType `json:"routingType,omitempty"`
}

// NetworkRole is what a network is for.
//
// +kubebuilder:validation:Enum=control-plane;worker
type NetworkRole string

// Roles of networks.
const (
	ControlPlaneRole NetworkRole = "control-plane"
	WorkerRole       NetworkRole = "worker"
)

// SubnetSpec is one network inside an Ethernet VPC.
//
// +kubebuilder:validation:XValidation:rule="has(self.cidr) != has(self.prefixLength)",message="exactly one of cidr and prefixLength must be set"
type SubnetSpec struct {
	// name that machines refer to as network.subnetName.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// prefixLength is the size of the subnet: 24 gives 256 addresses.
	// +optional
	// +kubebuilder:validation:Minimum=8
	// +kubebuilder:validation:Maximum=30
	PrefixLength *int32 `json:"prefixLength,omitempty"`

	// cidr is another way to give the size, such as 10.0.1.0/24. It must lie in
	// the IP block and must not overlap another one of this object. Only its
	// prefix length counts: the BMM API chooses the range within the IP block
	// itself, and status.subnets says which one it chose.
	// +optional
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4 && cidr(self).prefixLength() >= 8 && cidr(self).prefixLength() <= 30",message="cidr must be an IPv4 range with a prefix length between 8 and 30"
	CIDR string `json:"cidr,omitempty"`

	// role says which machines belong here when they don't say so themselves:
	// those of the control plane, or workers. A machine that names no network goes
	// into the one of its role, or else into the only one.
	// +optional
	Role NetworkRole `json:"role,omitempty"`

	// labels are informational only: subnets of the BMM API have none.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	Labels map[string]LabelValue `json:"labels,omitempty"`
}

// VPCPrefixSpec is one range of addresses inside an FNN VPC.
//
// +kubebuilder:validation:XValidation:rule="has(self.cidr) != has(self.prefixLength)",message="exactly one of cidr and prefixLength must be set"
type VPCPrefixSpec struct {
	// name that machines refer to as network.vpcPrefixName.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// prefixLength is the size of the prefix: 24 gives 256 addresses.
	// +optional
	// +kubebuilder:validation:Minimum=8
	// +kubebuilder:validation:Maximum=31
	PrefixLength *int32 `json:"prefixLength,omitempty"`

	// cidr is another way to give the size, such as 10.0.1.0/24. It must lie in
	// the IP block and must not overlap another one of this object. Only its
	// prefix length counts: the BMM API chooses the range within the IP block
	// itself, and status.vpcPrefixes says which one it chose.
	// +optional
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4 && cidr(self).prefixLength() >= 8 && cidr(self).prefixLength() <= 31",message="cidr must be an IPv4 range with a prefix length between 8 and 31"
	CIDR string `json:"cidr,omitempty"`

	// role says which machines belong here when they don't say so themselves:
	// those of the control plane, or workers. A machine that names no network goes
	// into the one of its role, or else into the only one.
	// +optional
	Role NetworkRole `json:"role,omitempty"`
}

// VPCPeeringSpec connects the VPC with another one at the site.
type VPCPeeringSpec struct {
	// peerVpcId is the UUID of the other VPC.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	PeerVPCID string `json:"peerVpcId,omitempty"`
}

// FailureDomainSpec is a part of the site that can fail on its own.
//
// +kubebuilder:validation:XValidation:rule="has(self.subnetName) != has(self.vpcPrefixName)",message="exactly one of subnetName and vpcPrefixName must be set"
type FailureDomainSpec struct {
	// name that Machines refer to as failureDomain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// controlPlane is true when machines of the control plane may be put here.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// subnetName is the subnet that machines here are attached to first.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	SubnetName string `json:"subnetName,omitempty"`

	// vpcPrefixName is the VPC prefix that machines here are attached to first.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	VPCPrefixName string `json:"vpcPrefixName,omitempty"`

	// instanceTypeID is the UUID of the instance type that machines here are of,
	// instead of their own instanceType.id.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	InstanceTypeID string `json:"instanceTypeID,omitempty"`
}
