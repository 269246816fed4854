package v1beta1

import (
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
	Spec NvidiaBMMMachineSpec `json:"spec,omitzero"`
}

// NvidiaBMMMachineTemplate is what KubeadmControlPlanes, MachineDeployments
// and MachineSets make NvidiaBMMMachines from. To change machines, write
// another template and refer to that one.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nvidiabmmmachinetemplates,shortName=bmmmt,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-nvidia-bmm"}
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
// from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nvidiabmmclustertemplates,shortName=bmmct,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-nvidia-bmm"}
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
