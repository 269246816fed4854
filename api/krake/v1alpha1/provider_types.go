package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// InfrastructureProviderSpec says who makes clusters.
type InfrastructureProviderSpec struct {
	// type of the provider: im is the Infrastructure Manager of GRyCAP.
	// +required
	// +kubebuilder:validation:Enum=im
	Type string `json:"type,omitempty"`

	// im describes a provider of type im.
	// +required
	IM IMProvider `json:"im,omitzero"`
}

// IMProvider is an Infrastructure Manager.
type IMProvider struct {
	// url of its REST API, such as https://im.example.com:8800.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s;]+$`
	URL string `json:"url,omitempty"`

	// secretRef names a Secret with either the keys username and password, or
	// the key token, and optionally ca.crt (certificates to trust beside the
	// system's). It is in the namespace of this object, or, of a
	// GlobalInfrastructureProvider, in the manager's (--global-namespace).
	// Infrastructures belong to the login that has made them: to IM, another
	// password is another user.
	// +required
	SecretRef SecretReference `json:"secretRef,omitzero"`
}

// InfrastructureProviderStatus is what is known of a provider.
type InfrastructureProviderStatus struct {
	// conditions of this object: Reachable says whether the provider answers and
	// takes the login.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// version that the provider says it has, its first 200 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Version string `json:"version,omitempty"`
}

// InfrastructureProvider makes clusters on Clouds of its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=infrastructureproviders,scope=Namespaced,categories=krake
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".spec.type",description="Type of the provider"
// +kubebuilder:printcolumn:name="Reachable",type="string",JSONPath=".status.conditions[?(@.type==\"Reachable\")].status",description="It answers and takes the login"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.version",description="Version of the provider"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type InfrastructureProvider struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says who makes clusters.
	// +required
	Spec InfrastructureProviderSpec `json:"spec,omitzero"`

	// status is what is known of the provider.
	// +optional
	Status InfrastructureProviderStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the object.
func (p *InfrastructureProvider) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (p *InfrastructureProvider) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = conditions
}

// InfrastructureProviderList is a list of InfrastructureProviders.
//
// +kubebuilder:object:root=true
type InfrastructureProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []InfrastructureProvider `json:"items"`
}

// GlobalInfrastructureProvider makes clusters on all clouds that name it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=globalinfrastructureproviders,scope=Cluster,categories=krake
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".spec.type",description="Type of the provider"
// +kubebuilder:printcolumn:name="Reachable",type="string",JSONPath=".status.conditions[?(@.type==\"Reachable\")].status",description="It answers and takes the login"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.version",description="Version of the provider"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type GlobalInfrastructureProvider struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says who makes clusters.
	// +required
	Spec InfrastructureProviderSpec `json:"spec,omitzero"`

	// status is what is known of the provider.
	// +optional
	Status InfrastructureProviderStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the object.
func (p *GlobalInfrastructureProvider) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (p *GlobalInfrastructureProvider) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = conditions
}

// GlobalInfrastructureProviderList is a list of GlobalInfrastructureProviders.
//
// +kubebuilder:object:root=true
type GlobalInfrastructureProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GlobalInfrastructureProvider `json:"items"`
}
