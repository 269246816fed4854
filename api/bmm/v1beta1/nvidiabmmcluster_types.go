package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NvidiaBMMClusterSpec says which networks a cluster gets, and where.
type NvidiaBMMClusterSpec struct {
	// siteRef names the BMM site (a data centre) that everything of this cluster
	// is made in. It can't be changed once it was found.
	// +required
	SiteRef SiteReference `json:"siteRef,omitzero"`

	// tenantID is the UUID of the tenant that owns the VPC, the subnets and the
	// instances. The credentials must be the tenant's. It can't be changed once
	// the VPC exists.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	TenantID string `json:"tenantID,omitempty"`

	// authentication says how to log in to the BMM API.
	// +required
	Authentication Authentication `json:"authentication,omitzero"`

	// vpc is the virtual network of the cluster. It is created for the cluster and
	// deleted with it.
	// +optional
	// +kubebuilder:default={}
	VPC VPCSpec `json:"vpc,omitzero"`

	// ipBlock is the tenant's IP block that subnets are cut from. Without it the
	// tenant's only IPv4 block at the site is used; where there are several, one
	// must be named.
	// +optional
	IPBlock *IPBlockReference `json:"ipBlock,omitempty"`

	// subnets are the networks inside the VPC that machines are attached to, each
	// with a name that machines refer to. Subnets can be added and removed, not
	// changed; one in use by a machine stays until the machine is gone.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Subnets []SubnetSpec `json:"subnets,omitempty"`

	// controlPlaneEndpoint is where the cluster's API server is reached: an
	// address that you provide, such as a virtual IP kept by kube-vip or a load
	// balancer in front of the control plane. KubeadmControlPlane waits until it
	// is set. Once set it can't be changed.
	// +optional
	ControlPlaneEndpoint *APIEndpoint `json:"controlPlaneEndpoint,omitempty"`
}

// SiteReference names a site by name or by ID.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.id)",message="exactly one of name and id must be set"
type SiteReference struct {
	// name is the site's name as the BMM API lists it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// id is the site's UUID.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	ID string `json:"id,omitempty"`
}

// IPBlockReference names an IP block by name or by ID.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.id)",message="exactly one of name and id must be set"
type IPBlockReference struct {
	// name is the block's name at the cluster's site.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// id is the block's UUID.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	ID string `json:"id,omitempty"`
}

// Authentication says how to log in to the BMM API.
type Authentication struct {
	// secretRef names a Secret in the namespace of this object with the keys
	// endpoint (the API's URL), orgName (the organisation) and token (a bearer
	// token), and optionally apiName (the path segment behind the organisation:
	// carbide, the default, or nico). A changed Secret is used at once, without a
	// restart.
	// +required
	SecretRef SecretReference `json:"secretRef,omitzero"`
}

// SecretReference names a Secret in the namespace of the object that refers to
// it.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// NetworkVirtualizationType says how a site isolates a VPC from others.
//
// +kubebuilder:validation:Enum=ETHERNET_VIRTUALIZER
type NetworkVirtualizationType string

// EthernetVirtualizer is virtual Ethernet on OVS and OVN: machines are
// attached to subnets.
const EthernetVirtualizer NetworkVirtualizationType = "ETHERNET_VIRTUALIZER"

// VPCSpec is the virtual network of a cluster.
type VPCSpec struct {
	// name of the VPC, unique within the site. Without it the name of this object
	// is used. It can't be changed once the VPC exists.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// networkVirtualizationType says how the site isolates the VPC:
	// ETHERNET_VIRTUALIZER is virtual Ethernet, with subnets. It can't be changed
	// once the VPC exists.
	// +optional
	// +kubebuilder:default=ETHERNET_VIRTUALIZER
	NetworkVirtualizationType NetworkVirtualizationType `json:"networkVirtualizationType,omitempty"`

	// description is free text for the people who look at the VPC.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`

	// labels are put on the VPC when it is created. Names that begin with
	// "bedplate-" are kept for Bedplate.
	// +optional
	// +kubebuilder:validation:MaxProperties=7
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('bedplate-'))",message="labels that begin with bedplate- are reserved"
	Labels map[string]LabelValue `json:"labels,omitempty"`
}

// LabelValue is the value of a label of a BMM resource.
//
// +kubebuilder:validation:MaxLength=255
type LabelValue string

// SubnetSpec is one network inside the VPC.
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

	// cidr is another way to give the size, such as 10.0.1.0/24. Only its prefix
	// length counts: the BMM API chooses the range within the IP block itself, and
	// status.subnets says which one it chose.
	// +optional
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4 && cidr(self).prefixLength() >= 8 && cidr(self).prefixLength() <= 30",message="cidr must be an IPv4 range with a prefix length between 8 and 30"
	CIDR string `json:"cidr,omitempty"`
}

// APIEndpoint is where a cluster's API server is reached.
type APIEndpoint struct {
	// host is an IP address or a DNS name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`

	// port of the API server.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// NvidiaBMMClusterStatus is what is known of a cluster's networks.
// +kubebuilder:validation:MinProperties=1
type NvidiaBMMClusterStatus struct {
	// conditions of this object: Ready sums them up.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization tells Cluster API how far the first provisioning has come.
	// +optional
	Initialization NvidiaBMMClusterInitializationStatus `json:"initialization,omitzero"`

	// siteID is the UUID of the site that siteRef names.
	// +optional
	SiteID string `json:"siteID,omitempty"`

	// vpcID is the UUID of the VPC.
	// +optional
	VPCID string `json:"vpcID,omitempty"`

	// ipBlockID is the UUID of the IP block that subnets are cut from.
	// +optional
	IPBlockID string `json:"ipBlockID,omitempty"`

	// subnets are the subnets that exist, by their names in the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	Subnets []SubnetStatus `json:"subnets,omitempty"`
}

// NvidiaBMMClusterInitializationStatus is part of Cluster API's contract.
// +kubebuilder:validation:MinProperties=1
type NvidiaBMMClusterInitializationStatus struct {
	// provisioned is true once all networks were ready for the first time; it
	// never becomes false again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// SubnetStatus is a subnet that exists.
type SubnetStatus struct {
	// name of the subnet in the spec.
	// +required
	Name string `json:"name,omitempty"`

	// id is the subnet's UUID.
	// +required
	ID string `json:"id,omitempty"`

	// cidr is the range that was cut out of the IP block.
	// +optional
	CIDR string `json:"cidr,omitempty"`
}

// NvidiaBMMCluster makes the networks of a Cluster API cluster at an NVIDIA
// bare-metal site: a VPC, and subnets cut from an IP block of the tenant.
// Refer to it as infrastructureRef of a Cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.siteID) || self.spec.siteRef == oldSelf.spec.siteRef",fieldPath=".spec.siteRef",message="siteRef is immutable once the site was found"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.vpcID) || self.spec.tenantID == oldSelf.spec.tenantID",fieldPath=".spec.tenantID",message="tenantID is immutable once the VPC exists"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.vpcID) || self.spec.vpc == oldSelf.spec.vpc",fieldPath=".spec.vpc",message="vpc is immutable once it exists"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.ipBlockID) || (has(self.spec.ipBlock) == has(oldSelf.spec.ipBlock) && (!has(self.spec.ipBlock) || self.spec.ipBlock == oldSelf.spec.ipBlock))",fieldPath=".spec",message="ipBlock is immutable once it was found"
// +kubebuilder:resource:path=nvidiabmmclusters,shortName=bmmc,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-nvidia-bmm"}
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that this object belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="All networks are as the spec wants them"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why it is not ready"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="Address of the API server"
// +kubebuilder:printcolumn:name="VPC",type="string",JSONPath=".status.vpcID",description="UUID of the VPC",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type NvidiaBMMCluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says which networks the cluster gets, and where.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.subnets.all(s, oldSelf.subnets.all(o, s.name != o.name || s == o))",fieldPath=".subnets",message="a subnet can't be changed: add another one and remove this one"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.controlPlaneEndpoint) || (has(self.controlPlaneEndpoint) && self.controlPlaneEndpoint == oldSelf.controlPlaneEndpoint)",message="controlPlaneEndpoint is immutable once it is set"
	Spec NvidiaBMMClusterSpec `json:"spec,omitzero"`

	// status is what is known of these networks.
	// +optional
	Status NvidiaBMMClusterStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the object.
func (c *NvidiaBMMCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (c *NvidiaBMMCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// OutsideIDs are the IDs of what the status says was made.
func (c *NvidiaBMMCluster) OutsideIDs() []string {
	var ids []string
	if c.Status.VPCID != "" {
		ids = append(ids, "VPC "+c.Status.VPCID)
	}
	for _, s := range c.Status.Subnets {
		ids = append(ids, "subnet "+s.ID)
	}
	return ids
}

// NvidiaBMMClusterList is a list of NvidiaBMMClusters.
//
// +kubebuilder:object:root=true
type NvidiaBMMClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NvidiaBMMCluster `json:"items"`
}
