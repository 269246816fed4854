package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// PublicIPFinalizer keeps a PublicIP until its address isn't announced any more.
const PublicIPFinalizer = "networkfabric.bedplate.dev/publicip"

// PublicIPSpec is one public address.
type PublicIPSpec struct {
	// ipAddress is the public IP. It can't be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ipAddress is immutable: create another PublicIP"
	IPAddress resourcev1.IPAddress `json:"ipAddress,omitempty"`
}

// PublicIPStatus says what has become of the address.
type PublicIPStatus struct {
	// allocated is true if this IP is already assigned.
	// +optional
	Allocated bool `json:"allocated,omitempty"`

	// managedResource is the host that has the address. It stays set as long as
	// the address is announced for that host.
	// +optional
	ManagedResource *ManagedResourceReference `json:"managedResource,omitempty"`

	// nextHop is the fabric's address that the public IP is announced with. Without
	// it the address isn't announced.
	// +optional
	NextHop resourcev1.IPAddress `json:"nextHop,omitempty"`

	// announcedBy are the BGP speakers that may announce the address. A speaker
	// writes its name before it announces, and takes it away when it has withdrawn.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	AnnouncedBy []string `json:"announcedBy,omitempty"`

	// conditions: Ready is true if the address is free, or assigned and announced.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ManagedResourceReference names the host that has a public IP.
type ManagedResourceReference struct {
	// namespace of the ManagedResource.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the ManagedResource.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// uid of the ManagedResource: another one of the same name doesn't have the
	// address.
	// +required
	UID types.UID `json:"uid,omitempty"`
}

// PublicIP is a single public IP that may be assigned to a single ManagedResource
// for access from the public domain.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=bedplate
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.spec.ipAddress`
// +kubebuilder:printcolumn:name="Allocated",type=boolean,JSONPath=`.status.allocated`
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.status.managedResource.namespace`
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.status.managedResource.name`
// +kubebuilder:printcolumn:name="Next hop",type=string,JSONPath=`.status.nextHop`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
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

// GetConditions returns the address's conditions.
func (p *PublicIP) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the address's conditions.
func (p *PublicIP) SetConditions(conditions []metav1.Condition) { p.Status.Conditions = conditions }

// PublicIPList is a list of PublicIPs.
//
// +kubebuilder:object:root=true
type PublicIPList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PublicIP `json:"items"`
}
