package v1beta1

// NetworkSpec says which networks an instance is attached to. The fields
// of the first interface are inlined here; where it names neither a subnet nor a
// VPC prefix, it is put into the network of the machine's role, or else into
// the cluster's only one.
//
// +kubebuilder:validation:XValidation:rule="!has(self.additionalInterfaces) || !(has(self.subnetName) || self.additionalInterfaces.exists(i, has(i.subnetName))) || !(has(self.vpcPrefixName) || self.additionalInterfaces.exists(i, has(i.vpcPrefixName)))",message="the interfaces of an instance are either all in subnets or all in VPC prefixes"
// +kubebuilder:validation:XValidation:rule="!has(self.additionalInterfaces) || self.additionalInterfaces.all(i, has(i.device) == has(self.device))",message="either all interfaces of an instance name a device, or none does"
// +kubebuilder:validation:XValidation:rule="!has(self.additionalInterfaces) || has(self.device) || self.additionalInterfaces.filter(i, i.?isPhysical.orValue(false)).size() + (self.?isPhysical.orValue(false) ? 1 : 0) <= 1",message="only one interface of an instance can be physical, unless all name their devices"
// +kubebuilder:validation:XValidation:rule="!has(self.additionalInterfaces) || self.additionalInterfaces.all(a, !(has(a.device) || has(a.virtualFunctionID)) || (self.additionalInterfaces.exists_one(b, (!has(a.device) || (has(b.device) && a.device == b.device && a.?deviceInstance == b.?deviceInstance)) && (has(a.virtualFunctionID) ? has(b.virtualFunctionID) && a.virtualFunctionID == b.virtualFunctionID : !has(b.virtualFunctionID))) && !((!has(a.device) || (has(self.device) && a.device == self.device && a.?deviceInstance == self.?deviceInstance)) && (has(a.virtualFunctionID) ? has(self.virtualFunctionID) && a.virtualFunctionID == self.virtualFunctionID : !has(self.virtualFunctionID)))))",message="two interfaces name the same device and function: each can be used once"
type NetworkSpec struct {
	NetworkInterface `json:",inline"`

	// networkSecurityGroupID is the ID of a network security group of your own
	// that filters the traffic of this machine, instead of the one of its cluster.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	NetworkSecurityGroupID string `json:"networkSecurityGroupID,omitempty"`

	// additionalInterfaces are the interfaces after the first one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=15
	// +kubebuilder:validation:items:XValidation:rule="has(self.subnetName) || has(self.vpcPrefixName)",message="exactly one of subnetName and vpcPrefixName must be set"
	AdditionalInterfaces []NetworkInterface `json:"additionalInterfaces,omitempty"`
}

// Interfaces are all interfaces in their order: the first one, then the additional ones.
func (n NetworkSpec) Interfaces() []NetworkInterface {
	return append([]NetworkInterface{n.NetworkInterface}, n.AdditionalInterfaces...)
}

// NetworkInterface is one network interface of an instance.
//
// +kubebuilder:validation:XValidation:rule="!has(self.subnetName) || !has(self.vpcPrefixName)",message="an interface is either in a subnet or in a VPC prefix: remove subnetName or vpcPrefixName"
// +kubebuilder:validation:XValidation:rule="!has(self.ipAddress) || !has(self.subnetName)",fieldPath=".ipAddress",message="an address can be chosen in a VPC prefix only: remove ipAddress, or use vpcPrefixName"
// +kubebuilder:validation:XValidation:rule="has(self.device) == has(self.deviceInstance)",message="device and deviceInstance go together"
// +kubebuilder:validation:XValidation:rule="!has(self.device) || !has(self.subnetName)",fieldPath=".device",message="a device can be chosen in a VPC prefix only: remove device and deviceInstance, or use vpcPrefixName"
// +kubebuilder:validation:XValidation:rule="!has(self.virtualFunctionID) || !self.?isPhysical.orValue(false)",fieldPath=".virtualFunctionID",message="an interface is either physical or a virtual function: remove virtualFunctionID or isPhysical"
// +kubebuilder:validation:XValidation:rule="!has(self.device) || has(self.virtualFunctionID) || self.?isPhysical.orValue(false)",message="an interface with a device is physical or a virtual function: set isPhysical to true, or virtualFunctionID"
type NetworkInterface struct {
	// subnetName is the name of a subnet of the NvidiaBMMCluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	SubnetName string `json:"subnetName,omitempty"`

	// vpcPrefixName is the name of a VPC prefix of the NvidiaBMMCluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	VPCPrefixName string `json:"vpcPrefixName,omitempty"`

	// ipAddress asks for a certain address of a VPC prefix. In a template it
	// serves one machine only.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4 && int(self.split('.')[3]) % 2 == 1",message="ipAddress must be an IPv4 address with an odd last number: the BMM API takes no other"
	IPAddress string `json:"ipAddress,omitempty"`

	// isPhysical attaches the physical function of the device. Where no interface
	// says so, it is the first one that is physical.
	// +optional
	IsPhysical *bool `json:"isPhysical,omitempty"`

	// device is the name of the network device, as the instance type lists it
	// among its capabilities.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Device string `json:"device,omitempty"`

	// deviceInstance says which of the devices of that name is meant, from 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DeviceInstance *int32 `json:"deviceInstance,omitempty"`

	// virtualFunctionID is the virtual function of the device, from 1 to 16.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	VirtualFunctionID *int32 `json:"virtualFunctionID,omitempty"`
}

// InfiniBandInterface attaches an instance to an InfiniBand partition.
type InfiniBandInterface struct {
	// partitionID is the UUID of the partition.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	PartitionID string `json:"partitionID,omitempty"`

	// device is the name of the InfiniBand device, as the instance type lists it
	// among its capabilities.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Device string `json:"device,omitempty"`

	// deviceInstance says which of the devices of that name is meant, from 0.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	DeviceInstance *int32 `json:"deviceInstance,omitempty"`

	// isPhysical is always true: the BMM API has no virtual functions of
	// InfiniBand devices.
	// +optional
	// +kubebuilder:default=true
	// +kubebuilder:validation:XValidation:rule="self",message="isPhysical must be true: the BMM API has no virtual functions of InfiniBand devices"
	IsPhysical *bool `json:"isPhysical,omitempty"`
}

// NVLinkInterface attaches a GPU of an instance to an NVLink logical
// partition.
type NVLinkInterface struct {
	// logicalPartitionID is the UUID of the partition.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	LogicalPartitionID string `json:"logicalPartitionID,omitempty"`

	// deviceInstance is the index of the GPU, from 0 to 3.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3
	DeviceInstance *int32 `json:"deviceInstance,omitempty"`
}
