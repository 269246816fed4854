package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// NvidiaBMMMachineTemplateSpec holds the machine to make copies of.
type NvidiaBMMMachineTemplateSpec struct {
	// template is the machine to make copies of.
	// +required
	Template NvidiaBMMMachineTemplateResource `json:"template,omitzero"`
}

// NvidiaBMMMachineTemplateResource is a machine without a name.
type NvidiaBMMMachineTemplateResource struct {
	// metadata holds labels and annotations for the machines.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the machines.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.providerID)",message="a template has no providerID: each of its machines gets its own"
	Spec NvidiaBMMMachineSpec `json:"spec,omitzero"`
}

// NvidiaBMMMachineTemplateStatus is what is known of the machines that a
// template makes, for autoscaling from zero.
// +kubebuilder:validation:MinProperties=1
type NvidiaBMMMachineTemplateStatus struct {
	// conditions of this object.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// capacity is what a machine has, such as cpu, memory and nvidia.com/gpu.
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

// Architectures that BMM machines have.
const (
	ArchitectureAMD64 Architecture = "amd64"
	ArchitectureARM64 Architecture = "arm64"
)

// NodeInfo is part of Cluster API's contract.
// +kubebuilder:validation:MinProperties=1
type NodeInfo struct {
	// architecture of the node's CPUs.
	// +optional
	Architecture Architecture `json:"architecture,omitempty"`

	// operatingSystem of the node, such as linux.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// NvidiaBMMMachineTemplate is what KubeadmControlPlanes, MachineDeployments
// and MachineSets make NvidiaBMMMachines from. It can't be changed: write
// another template and refer to that one.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=nvidiabmmmachinetemplates,shortName=bmmmt,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-nvidia-bmm","clusterctl.cluster.x-k8s.io="}
// +kubebuilder:printcolumn:name="InstanceType",type="string",JSONPath=".spec.template.spec.instanceType.id",description="UUID of the instance type"
// +kubebuilder:printcolumn:name="Subnet",type="string",JSONPath=".spec.template.spec.network.subnetName",description="Subnet of the first interface"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type NvidiaBMMMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec holds the machine to make copies of.
	// +required
	Spec NvidiaBMMMachineTemplateSpec `json:"spec,omitzero"`

	// status is what is known of the machines that the template makes.
	// +optional
	Status NvidiaBMMMachineTemplateStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the object.
func (t *NvidiaBMMMachineTemplate) GetConditions() []metav1.Condition { return t.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (t *NvidiaBMMMachineTemplate) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}

// NvidiaBMMMachineTemplateList is a list of NvidiaBMMMachineTemplates.
//
// +kubebuilder:object:root=true
type NvidiaBMMMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NvidiaBMMMachineTemplate `json:"items"`
}

// NvidiaBMMClusterTemplateSpec holds the cluster infrastructure to make copies
// of.
type NvidiaBMMClusterTemplateSpec struct {
	// template is the cluster infrastructure to make copies of.
	// +required
	Template NvidiaBMMClusterTemplateResource `json:"template,omitzero"`
}

// NvidiaBMMClusterTemplateResource is a cluster infrastructure without a name.
type NvidiaBMMClusterTemplateResource struct {
	// metadata holds labels and annotations for the NvidiaBMMClusters.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the NvidiaBMMClusters.
	// +required
	Spec NvidiaBMMClusterSpec `json:"spec,omitzero"`
}

// NvidiaBMMClusterTemplate is what a ClusterClass makes NvidiaBMMClusters
// from. It can't be changed: write another template and refer to that one.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nvidiabmmclustertemplates,shortName=bmmct,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-nvidia-bmm","clusterctl.cluster.x-k8s.io="}
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type NvidiaBMMClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec holds the cluster infrastructure to make copies of.
	// +required
	Spec NvidiaBMMClusterTemplateSpec `json:"spec,omitzero"`
}

// NvidiaBMMClusterTemplateList is a list of NvidiaBMMClusterTemplates.
//
// +kubebuilder:object:root=true
type NvidiaBMMClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NvidiaBMMClusterTemplate `json:"items"`
}
