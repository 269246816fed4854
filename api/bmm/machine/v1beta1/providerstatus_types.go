package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NvidiaBMMMachineProviderStatus is what is known of the instance of an
// OpenShift Machine: status.providerStatus of the Machine.
//
// +kubebuilder:object:root=true
type NvidiaBMMMachineProviderStatus struct {
	metav1.TypeMeta `json:",inline"`

	// conditions of the instance: Ready sums them up.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// instanceID is the UUID of the instance.
	// +optional
	InstanceID string `json:"instanceID,omitempty"`

	// instanceState is the instance's state in the BMM API's words, such as
	// Provisioning or Ready.
	// +optional
	InstanceState string `json:"instanceState,omitempty"`

	// machineID is the physical machine under the instance.
	// +optional
	MachineID string `json:"machineID,omitempty"`

	// serialConsoleURL is where the serial console is reached, with a key of one
	// of the sshKeyGroups.
	// +optional
	SerialConsoleURL string `json:"serialConsoleURL,omitempty"`
}
