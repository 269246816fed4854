package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IPv4CIDR is an IPv4 network, such as 10.0.0.0/16.
//
// +kubebuilder:validation:MaxLength=18
// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4 && string(cidr(self).masked()) == self",message="write an IPv4 network in its canonical form, such as 10.0.0.0/16"
type IPv4CIDR string

// IPv4 is an IPv4 address, such as 10.0.0.1.
//
// +kubebuilder:validation:MaxLength=15
// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4",message="write an IPv4 address, such as 10.0.0.1"
type IPv4 string

// DPUServiceIPAMSpec makes a pool of addresses in each chosen DPU cluster.
//
// +kubebuilder:validation:XValidation:rule="has(self.ipv4Network) != has(self.ipv4Subnet)",message="set either ipv4Network, of which each node gets a prefix, or ipv4Subnet, of which each node gets some addresses"
// +kubebuilder:validation:XValidation:rule="has(self.ipv4Network) == has(oldSelf.ipv4Network)",message="a pool can't become one of the other type: write another DPUServiceIPAM"
type DPUServiceIPAMSpec struct {
	// metadata of the pools: ports of chains choose a pool by its labels.
	// +optional
	Metadata Metadata `json:"metadata,omitzero"`

	// clusterSelector chooses DPU clusters by the labels of their kubeconfig
	// Secrets. Without it all are chosen.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// nodeSelector chooses the nodes that get addresses. Without it all are
	// chosen.
	// +optional
	NodeSelector *corev1.NodeSelector `json:"nodeSelector,omitempty"`

	// ipv4Network gives each node a prefix: a CIDRPool of NV-IPAM.
	// +optional
	IPV4Network *IPV4Network `json:"ipv4Network,omitempty"`

	// ipv4Subnet gives each node some addresses of one subnet: an IPPool of
	// NV-IPAM.
	// +optional
	IPV4Subnet *IPV4Subnet `json:"ipv4Subnet,omitempty"`
}

// IPV4Network gives each node a prefix.
//
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.network) || self.prefixSize >= cidr(self.network).prefixLength()",fieldPath=".prefixSize",message="the prefix of a node is a part of the network: prefixSize can't be less than the network's"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.network) || !has(self.exclusions) || self.exclusions.all(e, !isIP(e) || cidr(self.network).containsIP(e))",fieldPath=".exclusions",message="exclusions are addresses of the network"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.network) || !has(self.allocations) || self.allocations.all(n, !isCIDR(self.allocations[n]) || (cidr(self.network).containsCIDR(self.allocations[n]) && cidr(self.allocations[n]).prefixLength() == self.prefixSize))",fieldPath=".allocations",message="allocations are prefixes of the network, and have the length prefixSize"
type IPV4Network struct {
	// network that the prefixes are parts of.
	// +required
	Network IPv4CIDR `json:"network,omitempty"`

	// gatewayIndex is which address of a node's prefix is the gateway: 1 is the
	// one after the prefix's own. Without it there is no gateway.
	// +optional
	// +kubebuilder:validation:Minimum=0
	GatewayIndex *int32 `json:"gatewayIndex,omitempty"`

	// prefixSize is the length of a node's prefix, such as 24.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	PrefixSize int32 `json:"prefixSize,omitempty"`

	// exclusions are addresses that aren't given out.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=200
	Exclusions []IPv4 `json:"exclusions,omitempty"`

	// allocations are the prefixes of some nodes, by their names. The others
	// get any.
	// +optional
	// +kubebuilder:validation:MaxProperties=200
	Allocations map[string]IPv4CIDR `json:"allocations,omitempty"`

	// defaultGateway makes the gateway the default one of pods.
	// +optional
	DefaultGateway bool `json:"defaultGateway,omitempty"`

	// routes by the gateway.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Routes []Route `json:"routes,omitempty"`
}

// IPV4Subnet gives each node some addresses of one subnet.
//
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !isCIDR(self.subnet) || !isIP(self.gateway) || cidr(self.subnet).containsIP(self.gateway)",fieldPath=".gateway",message="the gateway is an address of the subnet"
type IPV4Subnet struct {
	// subnet of all nodes.
	// +required
	Subnet IPv4CIDR `json:"subnet,omitempty"`

	// gateway of the subnet.
	// +optional
	Gateway IPv4 `json:"gateway,omitempty"`

	// perNodeIPCount is how many addresses each node gets.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	PerNodeIPCount int32 `json:"perNodeIPCount,omitempty"`

	// defaultGateway makes the gateway the default one of pods.
	// +optional
	DefaultGateway bool `json:"defaultGateway,omitempty"`

	// routes by the gateway.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Routes []Route `json:"routes,omitempty"`
}

// Route by the gateway.
type Route struct {
	// dst is where it leads to.
	// +required
	Dst IPv4CIDR `json:"dst,omitempty"`
}

// DPUServiceIPAMStatus is what is known of a DPUServiceIPAM.
type DPUServiceIPAMStatus struct {
	SpreadStatus `json:",inline"`
}

// DPUServiceIPAM is a pool of addresses in DPU clusters.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=dpuserviceipams,scope=Namespaced,categories=dpf
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="The pools have addresses everywhere"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What it waits for",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type DPUServiceIPAM struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says which addresses, and where.
	// +required
	Spec DPUServiceIPAMSpec `json:"spec,omitzero"`

	// status is what is known of the pools.
	// +optional
	Status DPUServiceIPAMStatus `json:"status,omitzero"`
}

// DPUServiceIPAMList is a list of DPUServiceIPAMs.
//
// +kubebuilder:object:root=true
type DPUServiceIPAMList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DPUServiceIPAM `json:"items"`
}
