package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CloudBindingSpec says which cloud a Cluster is bound to, whatever its
// constraints and the cloud's metrics are.
type CloudBindingSpec struct {
	// cluster is the Cluster, which isn't bound yet, or isn't written yet.
	// +required
	Cluster ClusterReference `json:"cluster,omitzero"`

	// cloud is what the Cluster is bound to.
	// +required
	Cloud CloudReference `json:"cloud,omitzero"`
}

// ClusterReference names a Cluster in the same namespace.
type ClusterReference struct {
	// name of the Cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// CloudBindingStatus says what has become of a binding.
type CloudBindingStatus struct {
	// conditions of this object: Bound says whether the Cluster is bound to the
	// cloud.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CloudBinding binds a Cluster to a cloud by hand, in place of the scheduler.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cloudbindings,scope=Namespaced,categories=krake
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.cluster.name",description="Cluster that is bound"
// +kubebuilder:printcolumn:name="Cloud",type="string",JSONPath=".spec.cloud.name",description="Cloud that it is bound to"
// +kubebuilder:printcolumn:name="Bound",type="string",JSONPath=".status.conditions[?(@.type==\"Bound\")].status",description="Whether it is"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Bound\")].reason",description="Why it isn't"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type CloudBinding struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says which cloud a Cluster is bound to.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a CloudBinding can't be changed: delete it, and write another one"
	Spec CloudBindingSpec `json:"spec,omitzero"`

	// status says what has become of the binding.
	// +optional
	Status CloudBindingStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the object.
func (b *CloudBinding) GetConditions() []metav1.Condition { return b.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (b *CloudBinding) SetConditions(conditions []metav1.Condition) {
	b.Status.Conditions = conditions
}

// CloudBindingList is a list of CloudBindings.
//
// +kubebuilder:object:root=true
type CloudBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CloudBinding `json:"items"`
}
