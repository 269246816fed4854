package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
)

// NvidiaBMMMachineProviderSpec says which bare-metal instance an OpenShift
// Machine gets: spec.providerSpec.value of the Machine. Beside the network that
// the instance is put into, it has the fields of an NvidiaBMMMachine.
//
// +kubebuilder:object:root=true
type NvidiaBMMMachineProviderSpec struct {
	metav1.TypeMeta `json:",inline"`
	// metadata isn't used.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// siteRef names the BMM site, by its ID or by the name under which the BMM
	// API lists it.
	// +required
	SiteRef infrav1.SiteReference `json:"siteRef,omitzero"`

	// tenantID is the UUID of the tenant that owns the VPC and the instance. The
	// credentials must be the tenant's.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	TenantID string `json:"tenantID,omitempty"`

	// vpcID is the UUID of the VPC that the instance is put into. The names of
	// subnets and VPC prefixes in network are those of this VPC; where network
	// names none, it is the VPC's only one.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	VPCID string `json:"vpcID,omitempty"`

	// credentialsSecret holds the endpoint of the BMM API and what to log in
	// with. It is in the namespace of the Machine.
	// +required
	CredentialsSecret SecretReference `json:"credentialsSecret,omitzero"`

	// userDataSecret holds what the instance boots with, as text, under the
	// key userData. It is in the namespace of the Machine.
	// +required
	UserDataSecret SecretReference `json:"userDataSecret,omitzero"`

	infrav1.InstanceSpec `json:",inline"`
}

// SecretReference names a Secret in the namespace of the Machine.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}
