package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// IBMPowerVSMachineTemplateSpec holds the machine to make copies of.
type IBMPowerVSMachineTemplateSpec struct {
	// template is the machine to make copies of.
	// +required
	Template IBMPowerVSMachineTemplateResource `json:"template,omitzero"`
}

// IBMPowerVSMachineTemplateResource is a machine without a name.
type IBMPowerVSMachineTemplateResource struct {
	// metadata holds labels and annotations for the machines.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the machines.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.providerID)",fieldPath=".providerID",message="a template has no providerID, since each of its machines gets its own: remove it"
	Spec IBMPowerVSMachineSpec `json:"spec,omitzero"`
}

// IBMPowerVSMachineTemplateStatus is what is known of the machines that a
// template makes, for autoscaling from zero.
type IBMPowerVSMachineTemplateStatus struct {
	// conditions of this object.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// capacity is what a machine has: cpu and memory.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// nodeInfo says what a machine's node is like.
	// +optional
	NodeInfo NodeInfo `json:"nodeInfo,omitzero"`
}

// Architecture is the CPU architecture of a node.
//
// +kubebuilder:validation:Enum=amd64;arm64;s390x;ppc64le
type Architecture string

// ArchitecturePPC64LE is that of all machines of PowerVS.
const ArchitecturePPC64LE Architecture = "ppc64le"

// NodeInfo is part of Cluster API's contract.
// +kubebuilder:validation:MinProperties=1
type NodeInfo struct {
	// architecture of the node's CPUs: ppc64le.
	// +optional
	Architecture Architecture `json:"architecture,omitempty"`

	// operatingSystem of the node, such as linux.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// IBMPowerVSMachineTemplate is what KubeadmControlPlanes, MachineDeployments
// and MachineSets make IBMPowerVSMachines from. It can't be changed: write
// another template and refer to that one.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ibmpowervsmachinetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta2","cluster.x-k8s.io/provider=infrastructure-powervs","clusterctl.cluster.x-k8s.io="}
// +kubebuilder:printcolumn:name="SystemType",type="string",JSONPath=".spec.template.spec.systemType",description="Type of the host"
// +kubebuilder:printcolumn:name="Processors",type="string",JSONPath=".spec.template.spec.processors",description="Number of processors"
// +kubebuilder:printcolumn:name="Memory",type="integer",JSONPath=".spec.template.spec.memoryGiB",description="Memory in GiB"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type IBMPowerVSMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec holds the machine to make copies of.
	// +required
	Spec IBMPowerVSMachineTemplateSpec `json:"spec,omitzero"`

	// status is what is known of the machines that the template makes.
	// +optional
	Status IBMPowerVSMachineTemplateStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the object.
func (t *IBMPowerVSMachineTemplate) GetConditions() []metav1.Condition { return t.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (t *IBMPowerVSMachineTemplate) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}

// IBMPowerVSMachineTemplateList is a list of IBMPowerVSMachineTemplates.
//
// +kubebuilder:object:root=true
type IBMPowerVSMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IBMPowerVSMachineTemplate `json:"items"`
}

// IBMPowerVSClusterTemplateSpec holds the cluster infrastructure to make
// copies of.
type IBMPowerVSClusterTemplateSpec struct {
	// template is the cluster infrastructure to make copies of.
	// +required
	Template IBMPowerVSClusterTemplateResource `json:"template,omitzero"`
}

// IBMPowerVSClusterTemplateResource is a cluster infrastructure without a
// name.
type IBMPowerVSClusterTemplateResource struct {
	// metadata holds labels and annotations for the IBMPowerVSClusters, such as
	// powervs.cluster.x-k8s.io/create-infra: "true".
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the IBMPowerVSClusters.
	// +optional
	Spec IBMPowerVSClusterSpec `json:"spec,omitzero"`
}

// IBMPowerVSClusterTemplate is what a ClusterClass makes IBMPowerVSClusters
// from. It can't be changed: write another template and refer to that one.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ibmpowervsclustertemplates,shortName=ibmpowervsct,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta2","cluster.x-k8s.io/provider=infrastructure-powervs","clusterctl.cluster.x-k8s.io="}
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type IBMPowerVSClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec holds the cluster infrastructure to make copies of.
	// +required
	Spec IBMPowerVSClusterTemplateSpec `json:"spec,omitzero"`
}

// IBMPowerVSClusterTemplateList is a list of IBMPowerVSClusterTemplates.
//
// +kubebuilder:object:root=true
type IBMPowerVSClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IBMPowerVSClusterTemplate `json:"items"`
}
