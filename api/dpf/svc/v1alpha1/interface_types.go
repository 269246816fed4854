package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Types of interfaces.
const (
	// InterfaceVLAN is a VLAN on another interface.
	InterfaceVLAN = "vlan"
	// InterfacePhysical is an uplink of the DPU.
	InterfacePhysical = "physical"
	// InterfacePF is the representor of one of the host's physical functions.
	InterfacePF = "pf"
	// InterfaceVF is the representor of one of the host's virtual functions.
	InterfaceVF = "vf"
	// InterfaceOVN is the patch to ovn-kubernetes' bridge.
	InterfaceOVN = "ovn"
	// InterfaceService is an interface of a service's pod.
	InterfaceService = "service"
)

// ServiceInterfaceSpec is an interface of one node: a union by interfaceType.
//
// +kubebuilder:validation:XValidation:rule="has(self.node) == has(oldSelf.node) && (!has(self.node) || self.node == oldSelf.node)",fieldPath=".node",message="an interface stays on its node: write another one"
// +kubebuilder:validation:XValidation:rule="has(self.vlan) == (self.interfaceType == 'vlan')",fieldPath=".vlan",message="vlan is set for the interfaceType vlan, and for no other"
// +kubebuilder:validation:XValidation:rule="has(self.physical) == (self.interfaceType == 'physical')",fieldPath=".physical",message="physical is set for the interfaceType physical, and for no other"
// +kubebuilder:validation:XValidation:rule="has(self.pf) == (self.interfaceType == 'pf')",fieldPath=".pf",message="pf is set for the interfaceType pf, and for no other"
// +kubebuilder:validation:XValidation:rule="has(self.vf) == (self.interfaceType == 'vf')",fieldPath=".vf",message="vf is set for the interfaceType vf, and for no other"
// +kubebuilder:validation:XValidation:rule="has(self.service) == (self.interfaceType == 'service')",fieldPath=".service",message="service is set for the interfaceType service, and for no other"
// +kubebuilder:validation:XValidation:rule="!has(self.ovn) || self.interfaceType == 'ovn'",fieldPath=".ovn",message="ovn is set for the interfaceType ovn only"
type ServiceInterfaceSpec struct {
	// node that the interface is on; a set fills it in.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`

	// interfaceType says which of the other fields is set.
	// +required
	// +kubebuilder:validation:Enum=vlan;physical;pf;vf;ovn;service
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the type of an interface can't be changed: write another one"
	InterfaceType string `json:"interfaceType,omitempty"`

	// physical is an uplink of the DPU.
	// +optional
	Physical *Physical `json:"physical,omitempty"`

	// vlan is a VLAN on another interface.
	// +optional
	VLAN *VLAN `json:"vlan,omitempty"`

	// vf is the representor of one of the host's virtual functions.
	// +optional
	VF *VF `json:"vf,omitempty"`

	// pf is the representor of one of the host's physical functions.
	// +optional
	PF *PF `json:"pf,omitempty"`

	// service is an interface of a service's pod.
	// +optional
	Service *ServiceDef `json:"service,omitempty"`

	// ovn is the patch to ovn-kubernetes' bridge.
	// +optional
	OVN *OVN `json:"ovn,omitempty"`
}

// Physical is an uplink of the DPU.
type Physical struct {
	// interfaceName on the DPU, such as p0.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9_.-]*$`
	InterfaceName string `json:"interfaceName,omitempty"`
}

// VLAN on another interface.
type VLAN struct {
	// vlanID is the tag.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	VLANID int32 `json:"vlanID,omitempty"`

	// parentInterfaceRef names the interface on the DPU that the VLAN is on.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9_.-]*$`
	ParentInterfaceRef string `json:"parentInterfaceRef,omitempty"`
}

// PF is one of the host's physical functions.
type PF struct {
	// pfID counts the physical functions from 0.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=7
	ID *int32 `json:"pfID,omitempty"`
}

// VF is one of the host's virtual functions.
type VF struct {
	// vfID counts the virtual functions of the physical one from 0.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1023
	VFID *int32 `json:"vfID,omitempty"`

	// pfID counts the physical functions from 0.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=7
	PFID *int32 `json:"pfID,omitempty"`

	// parentInterfaceRef names the physical function's interface. It is accepted and has no effect:
	// pfID and vfID say which representor it is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9_.-]*$`
	ParentInterfaceRef string `json:"parentInterfaceRef,omitempty"`
}

// OVN is the patch to ovn-kubernetes' bridge.
type OVN struct {
	// externalBridge is ovn-kubernetes' bridge.
	// +optional
	// +kubebuilder:default="br-ovn"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9_.-]*$`
	ExternalBridge string `json:"externalBridge,omitempty"`
}

// ServiceDef is an interface of a service's pod.
type ServiceDef struct {
	// serviceID of the service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	ServiceID string `json:"serviceID,omitempty"`

	// network is the NetworkAttachmentDefinition, as name or namespace/name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Network string `json:"network,omitempty"`

	// interfaceName in the pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9_.-]*$`
	InterfaceName string `json:"interfaceName,omitempty"`
}

// ServiceInterfaceStatus is what is known of an interface.
type ServiceInterfaceStatus struct {
	ObjectStatus `json:",inline"`
}

// ServiceInterface is an interface of one node of a DPU cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=serviceinterfaces,scope=Namespaced,shortName=svcif,categories=dpf
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".spec.interfaceType",description="Type of the interface"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".spec.node",description="Node that the interface is on"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="The interface exists"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What it waits for",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ServiceInterface struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what the interface is.
	// +required
	Spec ServiceInterfaceSpec `json:"spec,omitzero"`

	// status is what is known of the interface.
	// +optional
	Status ServiceInterfaceStatus `json:"status,omitzero"`
}

// ServiceInterfaceList is a list of ServiceInterfaces.
//
// +kubebuilder:object:root=true
type ServiceInterfaceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServiceInterface `json:"items"`
}

// ServiceInterfaceTemplate is what the ServiceInterfaces of a set are made of.
//
// +kubebuilder:validation:XValidation:rule="!has(self.spec.node)",fieldPath=".spec.node",message="the set fills in the node: choose nodes with its nodeSelector"
type ServiceInterfaceTemplate struct {
	// metadata of the ServiceInterfaces.
	// +optional
	Metadata Metadata `json:"metadata,omitzero"`

	// spec of the ServiceInterfaces.
	// +required
	Spec ServiceInterfaceSpec `json:"spec,omitzero"`
}

// ServiceInterfaceSetSpec makes a ServiceInterface on each chosen node.
type ServiceInterfaceSetSpec struct {
	// nodeSelector chooses nodes by their labels. Without it all are chosen.
	// +optional
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`

	// template of the ServiceInterfaces.
	// +required
	Template ServiceInterfaceTemplate `json:"template,omitzero"`
}

// ServiceInterfaceSet makes a ServiceInterface on each chosen node of a DPU cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=serviceinterfacesets,scope=Namespaced,shortName=svcifset,categories=dpf
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="All interfaces are ready"
// +kubebuilder:printcolumn:name="Applied",type="integer",JSONPath=".status.numberApplied",description="Nodes with their interface"
// +kubebuilder:printcolumn:name="InterfacesReady",type="integer",JSONPath=".status.numberReady",description="Interfaces that are ready"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ServiceInterfaceSet struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what the interfaces are, and on which nodes.
	// +required
	Spec ServiceInterfaceSetSpec `json:"spec,omitzero"`

	// status is what is known of the set.
	// +optional
	Status SetStatus `json:"status,omitzero"`
}

// ServiceInterfaceSetList is a list of ServiceInterfaceSets.
//
// +kubebuilder:object:root=true
type ServiceInterfaceSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServiceInterfaceSet `json:"items"`
}

// ServiceInterfaceSetTemplate is what the ServiceInterfaceSets of DPU clusters are made of.
type ServiceInterfaceSetTemplate struct {
	// metadata of the ServiceInterfaceSets.
	// +optional
	Metadata Metadata `json:"metadata,omitzero"`

	// spec of the ServiceInterfaceSets.
	// +required
	Spec ServiceInterfaceSetSpec `json:"spec,omitzero"`
}

// DPUServiceInterfaceSpec makes a ServiceInterfaceSet in each chosen DPU cluster.
type DPUServiceInterfaceSpec struct {
	// clusterSelector chooses DPU clusters by the labels of their kubeconfig
	// Secrets. Without it all are chosen.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// template of the ServiceInterfaceSets.
	// +required
	Template ServiceInterfaceSetTemplate `json:"template,omitzero"`
}

// DPUServiceInterfaceStatus is what is known of a DPUServiceInterface.
type DPUServiceInterfaceStatus struct {
	SpreadStatus `json:",inline"`
}

// DPUServiceInterface is an interface on the nodes of DPU clusters.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=dpuserviceinterfaces,scope=Namespaced,categories=dpf
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".spec.template.spec.template.spec.interfaceType",description="Type of the interface"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="The interfaces are ready everywhere"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What it waits for",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type DPUServiceInterface struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what the interface is, and where.
	// +required
	Spec DPUServiceInterfaceSpec `json:"spec,omitzero"`

	// status is what is known of the interfaces.
	// +optional
	Status DPUServiceInterfaceStatus `json:"status,omitzero"`
}

// DPUServiceInterfaceList is a list of DPUServiceInterfaces.
//
// +kubebuilder:object:root=true
type DPUServiceInterfaceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DPUServiceInterface `json:"items"`
}
