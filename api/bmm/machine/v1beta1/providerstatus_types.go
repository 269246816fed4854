package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
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

	infrav1.InstanceStatus `json:",inline"`
}
