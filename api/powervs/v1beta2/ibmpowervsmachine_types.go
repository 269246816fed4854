package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// PowerVSProcessorType says how a virtual machine shares processors.
//
// +kubebuilder:validation:Enum=Dedicated;Shared;Capped;""
type PowerVSProcessorType string

// Processor types.
const (
	// ProcessorTypeDedicated: the processors are the machine's alone.
	ProcessorTypeDedicated PowerVSProcessorType = "Dedicated"
	// ProcessorTypeShared: the machine may use more than its share while others
	// leave it.
	ProcessorTypeShared PowerVSProcessorType = "Shared"
	// ProcessorTypeCapped: the machine never gets more than its share.
	ProcessorTypeCapped PowerVSProcessorType = "Capped"
)

// Defaults of a machine. The CRD has them for fields that are omitted; empty
// values count as omitted.
const (
	DefaultSystemType                         = "s1022"
	DefaultProcessorType PowerVSProcessorType = ProcessorTypeShared
)

// IBMPowerVSMachineSpec says which virtual machine a machine gets.
//
// +kubebuilder:validation:XValidation:rule="!has(self.serviceInstanceID) || self.serviceInstanceID == \"\" || !has(self.serviceInstance) || !has(self.serviceInstance.name) && (!has(self.serviceInstance.id) || self.serviceInstance.id == self.serviceInstanceID)",fieldPath=".serviceInstanceID",message="serviceInstanceID, which is deprecated, and serviceInstance name different workspaces: remove serviceInstanceID"
// +kubebuilder:validation:XValidation:rule="has(self.image) != has(self.imageRef)",fieldPath=".image",message="exactly one of image and imageRef must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.processors) || type(self.processors) == int || self.processors == \"\" || self.processors.matches('^[0-9]{1,3}([.][0-9]{1,2})?$')",fieldPath=".processors",message="processors must be a number with at most two decimals, such as 2 or '0.25'"
// +kubebuilder:validation:XValidation:rule="!has(self.processors) || self.processors == \"\" || !has(self.processorType) || self.processorType != 'Dedicated' || (type(self.processors) == int ? self.processors >= 1 : !self.processors.matches('^[0-9]{1,3}([.][0-9]{1,2})?$') || self.processors.matches('^0*[1-9][0-9]*([.]0+)?$'))",fieldPath=".processors",message="with processorType Dedicated processors must be a whole number of at least 1"
// +kubebuilder:validation:XValidation:rule="!has(self.processors) || self.processors == \"\" || has(self.processorType) && self.processorType == 'Dedicated' || (type(self.processors) == int ? self.processors >= 1 : !self.processors.matches('^[0-9]{1,3}([.][0-9]{1,2})?$') || self.processors.matches('[.](0|00|25|5|50|75)$|^[0-9]+$') && double(self.processors) >= 0.25)",fieldPath=".processors",message="processors must be at least 0.25, in steps of 0.25"
type IBMPowerVSMachineSpec struct {
	// serviceInstanceID is the ID of the PowerVS workspace.
	//
	// Deprecated: use serviceInstance.id, from which it must not differ. Empty
	// counts as omitted.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ServiceInstanceID string `json:"serviceInstanceID,omitempty"`

	// serviceInstance is the PowerVS workspace of the virtual machine, by its id
	// or its name. It must exist. When it is omitted it is that of the cluster.
	// regex is ignored, with a warning.
	// +optional
	ServiceInstance *IBMPowerVSResourceReference `json:"serviceInstance,omitempty"`

	// sshKey is the name of an SSH key in the workspace, whose owner may log in
	// to the virtual machine.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	SSHKey string `json:"sshKey,omitempty"`

	// image in the workspace that the virtual machine boots from, by its id or
	// its name. Either image or imageRef is required.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.id) || has(self.name)",message="the image must be named by its id or its name: regex can't be used for it"
	Image *IBMPowerVSResourceReference `json:"image,omitempty"`

	// imageRef names an IBMPowerVSImage in the namespace of this object, which
	// imports the image. Either image or imageRef is required.
	// +optional
	ImageRef *LocalObjectReference `json:"imageRef,omitempty"`

	// systemType is the type of the host, which has to be offered in the zone.
	// s922 and e880 are offered in few zones only. Empty counts as s1022.
	// +optional
	// +kubebuilder:default=s1022
	// +kubebuilder:validation:Enum=s922;e880;e980;s1022;s1122;e1050;e1080;""
	SystemType string `json:"systemType,omitempty"`

	// processorType says how processors are shared with other virtual machines:
	// Dedicated (not at all), Shared (with more than processors while others
	// leave it) or Capped (with no more than processors). Empty counts as
	// Shared.
	// +optional
	// +kubebuilder:default=Shared
	ProcessorType PowerVSProcessorType `json:"processorType,omitempty"`

	// processors is the number of processors, as a number or as a string such as
	// "0.25": with processorType Dedicated a whole number of at least 1,
	// otherwise at least 0.25, in steps of 0.25. How many there can be depends on
	// systemType. When it is omitted it is 1 with processorType Dedicated, and
	// 0.25 otherwise.
	// +optional
	Processors *intstr.IntOrString `json:"processors,omitempty"`

	// memoryGiB is the size of the memory in GiB, at least 2. How much there can
	// be depends on systemType.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=2
	MemoryGiB int32 `json:"memoryGiB,omitempty"`

	// network in the workspace that the virtual machine is attached to, by its
	// id, its name, or a regular expression that exactly one name matches. When
	// it is omitted it is that of the cluster.
	// +optional
	Network *IBMPowerVSResourceReference `json:"network,omitempty"`

	// providerID ties the machine to its virtual machine and its node:
	// ibmpowervs://REGION/ZONE/WORKSPACE/VM. Bedplate sets it when the virtual
	// machine exists; the kubelet must register with the same one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^ibmpowervs://.+$`
	ProviderID string `json:"providerID,omitempty"`
}

// LocalObjectReference names an object in the namespace of the object that
// refers to it.
type LocalObjectReference struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// IBMPowerVSMachineStatus is what is known of a virtual machine.
type IBMPowerVSMachineStatus struct {
	// conditions of this object: Ready sums them up.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization tells Cluster API how far the first provisioning has come.
	// +optional
	Initialization IBMPowerVSInitializationStatus `json:"initialization,omitzero"`

	// ready says whether the virtual machine runs. Cluster API reads
	// initialization.provisioned instead.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// instanceID is the ID of the virtual machine.
	// +optional
	InstanceID string `json:"instanceID,omitempty"`

	// instanceState is the state of the virtual machine in PowerVS's words, such
	// as ACTIVE.
	// +optional
	InstanceState string `json:"instanceState,omitempty"`

	// health of the virtual machine in PowerVS's words, such as OK.
	// +optional
	Health string `json:"health,omitempty"`

	// fault is what PowerVS says is wrong with the virtual machine.
	// +optional
	Fault string `json:"fault,omitempty"`

	// addresses of the virtual machine.
	// +optional
	// +listType=atomic
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// region of the PowerVS workspace, such as dal.
	// +optional
	Region string `json:"region,omitempty"`

	// zone of the PowerVS workspace, such as dal10.
	// +optional
	Zone string `json:"zone,omitempty"`
}

// IBMPowerVSMachine makes one virtual machine in a PowerVS workspace and
// boots it with the machine's bootstrap data. Usually made from an
// IBMPowerVSMachineTemplate by a KubeadmControlPlane or a MachineDeployment.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.providerID) || has(self.spec.providerID)",fieldPath=".spec.providerID",message="providerID is immutable once it is set"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.providerID) || has(oldSelf.spec.providerID) && self.spec.providerID == oldSelf.spec.providerID || has(oldSelf.status) && has(oldSelf.status.instanceID) && self.spec.providerID.endsWith('/' + oldSelf.status.instanceID)",fieldPath=".spec.providerID",message="Bedplate sets providerID when the virtual machine exists: remove it"
// +kubebuilder:resource:path=ibmpowervsmachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta2","cluster.x-k8s.io/provider=infrastructure-powervs","clusterctl.cluster.x-k8s.io="}
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that this object belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="The virtual machine runs as the spec wants it"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why it is not ready"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.instanceState",description="State of the virtual machine in PowerVS's words"
// +kubebuilder:printcolumn:name="Health",type="string",JSONPath=".status.health",description="Health of the virtual machine in PowerVS's words"
// +kubebuilder:printcolumn:name="Internal-IP",type="string",JSONPath=".status.addresses[?(@.type==\"InternalIP\")].address",description="Internal address",priority=1
// +kubebuilder:printcolumn:name="ProviderID",type="string",JSONPath=".spec.providerID",description="Virtual machine, as its node names it",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type IBMPowerVSMachine struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says which virtual machine the machine gets. It can't be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.sshKey) == has(oldSelf.sshKey) && (!has(self.sshKey) || self.sshKey == oldSelf.sshKey)",fieldPath=".sshKey",message="sshKey is immutable: the virtual machine gets it when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.image) == has(oldSelf.image) && (!has(self.image) || self.image == oldSelf.image)",fieldPath=".image",message="image is immutable: the virtual machine gets it when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.imageRef) == has(oldSelf.imageRef) && (!has(self.imageRef) || self.imageRef == oldSelf.imageRef)",fieldPath=".imageRef",message="imageRef is immutable: the virtual machine gets it when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.systemType) == has(oldSelf.systemType) && (!has(self.systemType) || self.systemType == oldSelf.systemType)",fieldPath=".systemType",message="systemType is immutable: the virtual machine gets it when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.processorType) == has(oldSelf.processorType) && (!has(self.processorType) || self.processorType == oldSelf.processorType)",fieldPath=".processorType",message="processorType is immutable: the virtual machine gets it when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.processors) == has(oldSelf.processors) && (!has(self.processors) || self.processors == oldSelf.processors)",fieldPath=".processors",message="processors are immutable: the virtual machine gets them when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.memoryGiB) == has(oldSelf.memoryGiB) && (!has(self.memoryGiB) || self.memoryGiB == oldSelf.memoryGiB)",fieldPath=".memoryGiB",message="memoryGiB is immutable: the virtual machine gets it when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.network) == has(oldSelf.network) && (!has(self.network) || self.network == oldSelf.network)",fieldPath=".network",message="network is immutable: the virtual machine gets it when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="(has(self.serviceInstance) && has(self.serviceInstance.id) ? self.serviceInstance.id : has(self.serviceInstanceID) ? self.serviceInstanceID : '') == (has(oldSelf.serviceInstance) && has(oldSelf.serviceInstance.id) ? oldSelf.serviceInstance.id : has(oldSelf.serviceInstanceID) ? oldSelf.serviceInstanceID : '') && (has(self.serviceInstance) && has(self.serviceInstance.name) ? self.serviceInstance.name : '') == (has(oldSelf.serviceInstance) && has(oldSelf.serviceInstance.name) ? oldSelf.serviceInstance.name : '')",fieldPath=".serviceInstance",message="serviceInstance is immutable: the virtual machine gets it when it is created. Make another machine"
	Spec IBMPowerVSMachineSpec `json:"spec,omitzero"`

	// status is what is known of the virtual machine.
	// +optional
	Status IBMPowerVSMachineStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the object.
func (m *IBMPowerVSMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (m *IBMPowerVSMachine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// IBMPowerVSMachineList is a list of IBMPowerVSMachines.
//
// +kubebuilder:object:root=true
type IBMPowerVSMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IBMPowerVSMachine `json:"items"`
}
