package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Metadata of objects that are made of a template.
type Metadata struct {
	// labels of the objects.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	Labels map[string]string `json:"labels,omitempty"`

	// annotations of the objects.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ServiceChainSpec connects interfaces of one node.
//
// +kubebuilder:validation:XValidation:rule="has(self.node) == has(oldSelf.node) && (!has(self.node) || self.node == oldSelf.node)",fieldPath=".node",message="a chain stays on its node: write another one"
type ServiceChainSpec struct {
	// node that the chain is on; a set fills it in.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`

	// switches of the chain: each is one layer 2 segment of its ports.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	Switches []Switch `json:"switches,omitempty"`
}

// Switch is a layer 2 segment.
type Switch struct {
	// ports of the switch.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	Ports []Port `json:"ports,omitempty"`
}

// Port of a switch.
type Port struct {
	// serviceInterface is what is plugged in.
	// +required
	ServiceInterface ServiceIfc `json:"serviceInterface,omitzero"`
}

// ServiceIfc chooses a ServiceInterface of the same node.
type ServiceIfc struct {
	// matchLabels that exactly one ServiceInterface of the node carries.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=50
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// ipam gives an interface of a service an address. The DPUService has to
	// have the interface: its pods ask for the address when they start.
	// +optional
	IPAM *IPAM `json:"ipam,omitempty"`
}

// IPAM chooses a pool of addresses.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.defaultGateway) && self.defaultGateway && has(self.setDefaultRoute) && self.setDefaultRoute)",message="an interface with the gateway's own address can't have a default route by it: set defaultGateway or setDefaultRoute"
type IPAM struct {
	// matchLabels that exactly one DPUServiceIPAM of the namespace has in its
	// spec.metadata.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=50
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// defaultGateway gives the interface the address of the pool's gateway.
	// +optional
	DefaultGateway bool `json:"defaultGateway,omitempty"`

	// setDefaultRoute makes the default route of the pods lead to the pool's
	// gateway. Of an ipv4Network this takes its defaultGateway.
	// +optional
	SetDefaultRoute bool `json:"setDefaultRoute,omitempty"`
}

// ServiceChain connects interfaces of one node of a DPU cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=servicechains,scope=Namespaced,shortName=svcchain,categories=dpf
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".spec.node",description="Node that the chain is on"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="The ports are connected"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What it waits for",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ServiceChain struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what is connected.
	// +required
	Spec ServiceChainSpec `json:"spec,omitzero"`

	// status is what is known of the chain.
	// +optional
	Status ServiceChainStatus `json:"status,omitzero"`
}

// ServiceChainStatus is what is known of a chain.
type ServiceChainStatus struct {
	ObjectStatus `json:",inline"`
}

// ServiceChainList is a list of ServiceChains.
//
// +kubebuilder:object:root=true
type ServiceChainList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServiceChain `json:"items"`
}

// ServiceChainTemplate is what the ServiceChains of a set are made of.
//
// +kubebuilder:validation:XValidation:rule="!has(self.spec.node)",fieldPath=".spec.node",message="the set fills in the node: choose nodes with its nodeSelector"
type ServiceChainTemplate struct {
	// metadata of the ServiceChains.
	// +optional
	Metadata Metadata `json:"metadata,omitzero"`

	// spec of the ServiceChains.
	// +required
	Spec ServiceChainSpec `json:"spec,omitzero"`
}

// ServiceChainSetSpec makes a ServiceChain on each chosen node.
type ServiceChainSetSpec struct {
	// nodeSelector chooses nodes by their labels. Without it all are chosen.
	// +optional
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`

	// template of the ServiceChains.
	// +required
	Template ServiceChainTemplate `json:"template,omitzero"`
}

// SetStatus is what is known of a set.
type SetStatus struct {
	ObjectStatus `json:",inline"`

	// numberApplied is how many nodes have their object.
	// +optional
	NumberApplied int32 `json:"numberApplied,omitempty"`

	// numberReady is how many of these are ready.
	// +optional
	NumberReady int32 `json:"numberReady,omitempty"`
}

// ServiceChainSet makes a ServiceChain on each chosen node of a DPU cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=servicechainsets,scope=Namespaced,shortName=svcchainset,categories=dpf
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="All chains are ready"
// +kubebuilder:printcolumn:name="Applied",type="integer",JSONPath=".status.numberApplied",description="Nodes with their chain"
// +kubebuilder:printcolumn:name="ChainsReady",type="integer",JSONPath=".status.numberReady",description="Chains that are ready"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ServiceChainSet struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what is connected, and on which nodes.
	// +required
	Spec ServiceChainSetSpec `json:"spec,omitzero"`

	// status is what is known of the set.
	// +optional
	Status SetStatus `json:"status,omitzero"`
}

// ServiceChainSetList is a list of ServiceChainSets.
//
// +kubebuilder:object:root=true
type ServiceChainSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServiceChainSet `json:"items"`
}

// ServiceChainSetTemplate is what the ServiceChainSets of DPU clusters are made of.
type ServiceChainSetTemplate struct {
	// metadata of the ServiceChainSets.
	// +optional
	Metadata Metadata `json:"metadata,omitzero"`

	// spec of the ServiceChainSets.
	// +required
	Spec ServiceChainSetSpec `json:"spec,omitzero"`
}

// DPUServiceChainSpec makes a ServiceChainSet in each chosen DPU cluster.
type DPUServiceChainSpec struct {
	// clusterSelector chooses DPU clusters by the labels of their kubeconfig
	// Secrets. Without it all are chosen.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// template of the ServiceChainSets.
	// +required
	Template ServiceChainSetTemplate `json:"template,omitzero"`
}

// DPUServiceChainStatus is what is known of a DPUServiceChain.
type DPUServiceChainStatus struct {
	SpreadStatus `json:",inline"`
}

// DPUServiceChain connects interfaces on the nodes of DPU clusters.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=dpuservicechains,scope=Namespaced,categories=dpf
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="The chains are ready everywhere"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What it waits for",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type DPUServiceChain struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what is connected, and where.
	// +required
	Spec DPUServiceChainSpec `json:"spec,omitzero"`

	// status is what is known of the chains.
	// +optional
	Status DPUServiceChainStatus `json:"status,omitzero"`
}

// DPUServiceChainList is a list of DPUServiceChains.
//
// +kubebuilder:object:root=true
type DPUServiceChainList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DPUServiceChain `json:"items"`
}
