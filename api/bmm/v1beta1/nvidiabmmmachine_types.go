package v1beta1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
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

	InstanceSpec `json:",inline"`
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

	InstanceStatus `json:",inline"`

	// failureDomain that the machine was put into.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

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
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() > 1",optionalOldSelf=true,fieldPath=".metadata",message="the instance gets the name of this object, and the BMM API requires at least two characters: choose a longer one"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.providerID) || has(self.spec.providerID)",fieldPath=".spec.providerID",message="providerID is immutable once it is set"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.providerID) || has(oldSelf.spec.providerID) && self.spec.providerID == oldSelf.spec.providerID || has(oldSelf.status) && has(oldSelf.status.instanceID) && self.spec.providerID.endsWith('/' + oldSelf.status.instanceID)",fieldPath=".spec.providerID",message="Bedplate sets providerID when the instance exists"
// +kubebuilder:resource:path=nvidiabmmmachines,shortName=bmmm,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-nvidia-bmm","clusterctl.cluster.x-k8s.io="}
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
	// +kubebuilder:validation:XValidation:rule="self.instanceType == oldSelf.instanceType",fieldPath=".instanceType",message="instanceType is immutable: the instance gets it when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="self.operatingSystem == oldSelf.operatingSystem",fieldPath=".operatingSystem",message="operatingSystem is immutable: the instance gets it when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.alwaysBootWithCustomIpxe) == has(oldSelf.alwaysBootWithCustomIpxe) && (!has(self.alwaysBootWithCustomIpxe) || self.alwaysBootWithCustomIpxe == oldSelf.alwaysBootWithCustomIpxe)",fieldPath=".alwaysBootWithCustomIpxe",message="alwaysBootWithCustomIpxe is immutable: the instance gets it when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.phoneHomeEnabled) == has(oldSelf.phoneHomeEnabled) && (!has(self.phoneHomeEnabled) || self.phoneHomeEnabled == oldSelf.phoneHomeEnabled)",fieldPath=".phoneHomeEnabled",message="phoneHomeEnabled is immutable: the instance gets it when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.network) == has(oldSelf.network) && (!has(self.network) || self.network == oldSelf.network)",fieldPath=".network",message="network is immutable: the instance gets it when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.infiniBandInterfaces) == has(oldSelf.infiniBandInterfaces) && (!has(self.infiniBandInterfaces) || self.infiniBandInterfaces == oldSelf.infiniBandInterfaces)",fieldPath=".infiniBandInterfaces",message="infiniBandInterfaces are immutable: the instance gets them when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.nvlinkInterfaces) == has(oldSelf.nvlinkInterfaces) && (!has(self.nvlinkInterfaces) || self.nvlinkInterfaces == oldSelf.nvlinkInterfaces)",fieldPath=".nvlinkInterfaces",message="nvlinkInterfaces are immutable: the instance gets them when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.dpuExtensionServices) == has(oldSelf.dpuExtensionServices) && (!has(self.dpuExtensionServices) || self.dpuExtensionServices == oldSelf.dpuExtensionServices)",fieldPath=".dpuExtensionServices",message="dpuExtensionServices are immutable: the instance gets them when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.sshKeyGroups) == has(oldSelf.sshKeyGroups) && (!has(self.sshKeyGroups) || self.sshKeyGroups == oldSelf.sshKeyGroups)",fieldPath=".sshKeyGroups",message="sshKeyGroups are immutable: the instance gets them when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.description) == has(oldSelf.description) && (!has(self.description) || self.description == oldSelf.description)",fieldPath=".description",message="description is immutable: the instance gets it when it is created. Make another machine"
	// +kubebuilder:validation:XValidation:rule="has(self.labels) == has(oldSelf.labels) && (!has(self.labels) || self.labels == oldSelf.labels)",fieldPath=".labels",message="labels are immutable: the instance gets them when it is created. Make another machine"
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
func (m *NvidiaBMMMachine) OutsideIDs() []ledgerv1.OutsideID {
	id := m.Status.InstanceID
	if m.Spec.ProviderID != "" {
		id = m.Spec.ProviderID[strings.LastIndex(m.Spec.ProviderID, "/")+1:]
	}
	if id == "" {
		return nil
	}
	return []ledgerv1.OutsideID{{Kind: "instance", ID: id}}
}

// NvidiaBMMMachineList is a list of NvidiaBMMMachines.
//
// +kubebuilder:object:root=true
type NvidiaBMMMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NvidiaBMMMachine `json:"items"`
}
