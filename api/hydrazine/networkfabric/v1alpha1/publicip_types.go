package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// PublicIPSpec is one public address.
type PublicIPSpec struct {
	// ipAddress is the public IP. It can't be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a PublicIP keeps its address: make another one"
	IPAddress resourcev1.IPAddress `json:"ipAddress,omitempty"`
}

// PublicIPStatus says what has become of the address.
type PublicIPStatus struct {
	// allocated is true if this IP is already assigned.
	// +optional
	Allocated bool `json:"allocated,omitempty"`
}

// PublicIP is a single public IP that may be assigned to a single ManagedResource
// for access from the public domain.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=bedplate
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.spec.ipAddress`
// +kubebuilder:printcolumn:name="Allocated",type=boolean,JSONPath=`.status.allocated`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PublicIP struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the address.
	// +required
	Spec PublicIPSpec `json:"spec,omitempty"`

	// status says what has become of it.
	// +optional
	Status PublicIPStatus `json:"status,omitempty"`
}

// PublicIPList is a list of PublicIPs.
//
// +kubebuilder:object:root=true
type PublicIPList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PublicIP `json:"items"`
}
