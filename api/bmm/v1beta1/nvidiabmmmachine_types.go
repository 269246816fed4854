package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// NvidiaBMMMachineSpec says which bare-metal instance a machine gets.
type NvidiaBMMMachineSpec struct {
	// providerID ties the machine to its instance and its node:
	// nvidia-bmm://SITE-UUID/INSTANCE-UUID. Bedplate sets it when the instance
	// exists; the kubelet must register with the same one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// instanceType says which hardware the instance runs on. It can't be changed.
	// +required
	InstanceType InstanceTypeReference `json:"instanceType,omitzero"`

	// operatingSystem says what the instance boots. It can't be changed.
	// +required
	OperatingSystem OperatingSystemReference `json:"operatingSystem,omitzero"`

	// network says which subnets the instance is attached to. It can't be changed.
	// +required
	Network NetworkSpec `json:"network,omitzero"`

	// sshKeyGroups are the UUIDs of the tenant's SSH key groups that may reach the
	// serial console.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:items:MaxLength=36
	SSHKeyGroups []string `json:"sshKeyGroups,omitempty"`

	// description is free text for the people who look at the instance.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`

	// labels are put on the instance when it is created. Names that begin with
	// "bedplate-" are kept for Bedplate.
	// +optional
	// +kubebuilder:validation:MaxProperties=7
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('bedplate-'))",message="labels that begin with bedplate- are reserved"
	Labels map[string]LabelValue `json:"labels,omitempty"`
}

// InstanceTypeReference picks the hardware: any free machine of a type, or one
// certain machine.
//
// +kubebuilder:validation:XValidation:rule="has(self.id) != has(self.machineID)",message="exactly one of id and machineID must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.allowUnhealthyMachine) || has(self.machineID)",message="allowUnhealthyMachine goes with machineID"
type InstanceTypeReference struct {
	// id is the UUID of an instance type: any free machine of the type is taken.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	ID string `json:"id,omitempty"`

	// machineID is one certain machine, for tenants that may choose.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	MachineID string `json:"machineID,omitempty"`

	// allowUnhealthyMachine takes the machine of machineID even when the site
	// reports it unhealthy.
	// +optional
	AllowUnhealthyMachine *bool `json:"allowUnhealthyMachine,omitempty"`
}

// OperatingSystemReference names an operating system that the BMM API offers
// to the tenant.
type OperatingSystemReference struct {
	// id is the UUID of the operating system.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	ID string `json:"id,omitempty"`
}

// NetworkSpec says which subnet an instance is attached to.
type NetworkSpec struct {
	// subnetName is the name of a subnet of the NvidiaBMMCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	SubnetName string `json:"subnetName,omitempty"`
}

// NvidiaBMMMachineStatus is what is known of a machine's instance.
// +kubebuilder:validation:MinProperties=1
type NvidiaBMMMachineStatus struct {
	// conditions of this object: Ready sums them up.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization tells Cluster API how far the first provisioning has come.
	// +optional
	Initialization NvidiaBMMMachineInitializationStatus `json:"initialization,omitzero"`

	// instanceID is the UUID of the instance.
	// +optional
	InstanceID string `json:"instanceID,omitempty"`

	// machineID is the physical machine under the instance.
	// +optional
	MachineID string `json:"machineID,omitempty"`

	// instanceState is the instance's state in the BMM API's words, such as
	// Provisioning or Ready.
	// +optional
	InstanceState string `json:"instanceState,omitempty"`

	// addresses of the instance.
	// +optional
	// +listType=atomic
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`
}

// NvidiaBMMMachineInitializationStatus is part of Cluster API's contract.
// +kubebuilder:validation:MinProperties=1
type NvidiaBMMMachineInitializationStatus struct {
	// provisioned is true once the instance ran for the first time; it never
	// becomes false again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// NvidiaBMMMachine makes one bare-metal instance and boots it with the
// machine's bootstrap data. Usually made from an NvidiaBMMMachineTemplate by a
// KubeadmControlPlane or a MachineDeployment.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=nvidiabmmmachines,shortName=bmmm,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-nvidia-bmm"}
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that this object belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="The instance runs as the spec wants it"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why it is not ready"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.instanceState",description="The instance's state in the BMM API's words"
// +kubebuilder:printcolumn:name="Address",type="string",JSONPath=".status.addresses[?(@.type==\"InternalIP\")].address",description="Address of the instance"
// +kubebuilder:printcolumn:name="ProviderID",type="string",JSONPath=".spec.providerID",description="Instance, as its node names it",priority=1
// +kubebuilder:printcolumn:name="Machine",type="string",JSONPath=".status.machineID",description="Physical machine",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type NvidiaBMMMachine struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says which instance the machine gets.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.providerID) || (has(self.providerID) && self.providerID == oldSelf.providerID)",message="providerID is immutable once it is set"
	// +kubebuilder:validation:XValidation:rule="self.instanceType == oldSelf.instanceType",fieldPath=".instanceType",message="instanceType is immutable"
	// +kubebuilder:validation:XValidation:rule="self.operatingSystem == oldSelf.operatingSystem",fieldPath=".operatingSystem",message="operatingSystem is immutable"
	// +kubebuilder:validation:XValidation:rule="self.network == oldSelf.network",fieldPath=".network",message="network is immutable"
	// +kubebuilder:validation:XValidation:rule="has(self.sshKeyGroups) == has(oldSelf.sshKeyGroups) && (!has(self.sshKeyGroups) || self.sshKeyGroups == oldSelf.sshKeyGroups)",message="sshKeyGroups are immutable: the instance gets them when it is created"
	// +kubebuilder:validation:XValidation:rule="has(self.labels) == has(oldSelf.labels) && (!has(self.labels) || self.labels == oldSelf.labels)",message="labels are immutable: the instance gets them when it is created"
	// +kubebuilder:validation:XValidation:rule="has(self.description) == has(oldSelf.description) && (!has(self.description) || self.description == oldSelf.description)",message="description is immutable: the instance gets it when it is created"
	Spec NvidiaBMMMachineSpec `json:"spec,omitzero"`

	// status is what is known of the instance.
	// +optional
	Status NvidiaBMMMachineStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the object.
func (m *NvidiaBMMMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (m *NvidiaBMMMachine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// OutsideIDs are the IDs of what spec and status say was made.
func (m *NvidiaBMMMachine) OutsideIDs() []string {
	switch {
	case m.Spec.ProviderID != "":
		return []string{m.Spec.ProviderID}
	case m.Status.InstanceID != "":
		return []string{"instance " + m.Status.InstanceID}
	}
	return nil
}

// NvidiaBMMMachineList is a list of NvidiaBMMMachines.
//
// +kubebuilder:object:root=true
type NvidiaBMMMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NvidiaBMMMachine `json:"items"`
}
