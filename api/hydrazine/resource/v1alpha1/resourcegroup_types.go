package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OverlayNetworkImplementationType says what carries the network of a ResourceGroup.
//
// +kubebuilder:validation:Enum=Fabric;Software
type OverlayNetworkImplementationType string

const (
	// FabricNetwork means that the network fabric itself carries the network. Hydrazine records the group, its members and their
	// addresses; it starts no central, calls no agent, and isolates no host.
	FabricNetwork OverlayNetworkImplementationType = "Fabric"
	// SoftwareNetwork means that OVN on the DPUs carries the network, with a central of its own.
	SoftwareNetwork OverlayNetworkImplementationType = "Software"
)

// ResourceGroupSpec defines the desired state of ResourceGroup.
//
// +kubebuilder:validation:XValidation:rule="self.networkImplementationType == oldSelf.networkImplementationType",fieldPath=".networkImplementationType",message="networkImplementationType is immutable: create another ResourceGroup"
// +kubebuilder:validation:XValidation:rule="has(self.secondNetwork) == has(oldSelf.secondNetwork) && (!has(self.secondNetwork) || self.secondNetwork == oldSelf.secondNetwork)",fieldPath=".secondNetwork",message="the network is immutable: make another ResourceGroup"
// +kubebuilder:validation:XValidation:rule="!has(self.secondNetwork) || !isIP(self.network.ip) || !isIP(self.secondNetwork.ip) || ip(self.network.ip).family() != ip(self.secondNetwork.ip).family()",fieldPath=".secondNetwork",message="network and secondNetwork must be of different IP versions: one IPv4, the other IPv6"
// +kubebuilder:validation:XValidation:rule="!has(self.securityGroups) || size(self.securityGroups) == 0 || self.networkImplementationType == 'Software'",fieldPath=".securityGroups",message="only a Software network has security groups: leave them out, or choose networkImplementationType Software"
// +kubebuilder:validation:XValidation:rule="!has(self.dhcpServer) || !isIP(self.dhcpServer) || (isIP(self.network.ip) && ip(self.network.ip).family() == ip(self.dhcpServer).family()) || has(self.secondNetwork)",fieldPath=".dhcpServer",message="dhcpServer must be of the IP version of one of the networks"
type ResourceGroupSpec struct {
	// tenantIdentifier names the tenant that this group belongs to. Groups are
	// isolated from each other, those of one tenant too.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	TenantIdentifier string `json:"tenantIdentifier,omitempty"`

	// network is the overlay L2 network of this group. It is immutable. Networks of
	// different groups may overlap.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the network is immutable: make another ResourceGroup"
	Network *IPNet `json:"network,omitempty"`

	// secondNetwork gives the same L2 network addresses of the other IP version too
	// (dual stack). It is immutable.
	// +optional
	SecondNetwork *IPNet `json:"secondNetwork,omitempty"`

	// dhcpServer is the address of the DHCP server that the members' requests are
	// relayed to: DHCPv4 to an IPv4 address, DHCPv6 to an IPv6 address.
	// +optional
	DHCPServer IPAddress `json:"dhcpServer,omitempty"`

	// networkImplementationType says what carries the network: Fabric is the network
	// fabric itself, and Hydrazine only records the members; Software is OVN on the
	// DPUs. It can't be changed.
	// +optional
	// +kubebuilder:default=Fabric
	NetworkImplementationType OverlayNetworkImplementationType `json:"networkImplementationType,omitempty"`

	// securityGroups say what traffic members let through. Each member names those
	// that it is in; one that names none is in the group "default", if there is one.
	// A member that is in no security group lets everything through. Only a Software
	// network can have them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
}

// SoftwareNetworkConfiguration says where OVN has the network.
type SoftwareNetworkConfiguration struct {
	// ovnServiceName is the name of the OVN central of this group.
	// +optional
	OvnService string `json:"ovnServiceName,omitempty"`

	// LogicalNetwork is the name of the logical switch that the members are on.
	// +optional
	LogicalNetwork string `json:"LogicalNetwork,omitempty"`

	// southbound is where the DPUs connect to the OVN central, once it has been
	// open to them.
	// +optional
	Southbound string `json:"southbound,omitempty"`

	// dhcpCircuitID identifies the group to a DHCP server, which may serve several
	// groups with the same network: relays add it to requests as circuit-id
	// (RFC 3046), or interface-id (RFC 8415).
	// +optional
	DHCPCircuitID string `json:"dhcpCircuitID,omitempty"`
}

// Propagation says how far the last change of a network has come.
type Propagation struct {
	// change is the number of the last change, as OVN counts (nb_cfg): a new database begins with the milliseconds since 1970.
	// +optional
	Change int64 `json:"change,omitempty"`

	// dpus is the number of DPUs that members are attached by.
	// +optional
	DPUs int32 `json:"dpus,omitempty"`

	// current is how many of them have the flows of the last change.
	// +optional
	Current int32 `json:"current,omitempty"`
}

// ResourceGroupStatus defines the observed state of ResourceGroup.
type ResourceGroupStatus struct {
	// snatIPs are the fabric's addresses that the members' traffic has outside the
	// overlay.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	SNATIPs []IPAddress `json:"snatIPs,omitempty"`

	// managedResourceCount is the number of ManagedResources that name this group,
	// ready or not.
	// +optional
	ManagedResourceCount uint64 `json:"managedResourceCount,omitempty"`

	// softwareNetworkConfiguration says where OVN has the network. It is set for
	// Software networks only.
	// +optional
	SoftwareNetworkConfiguration *SoftwareNetworkConfiguration `json:"softwareNetworkConfiguration,omitempty"`

	// propagation says how far the last change of the network, such as one of a
	// security group, has come.
	// +optional
	Propagation *Propagation `json:"propagation,omitempty"`

	// conditions: Ready sums up CentralReady and TopologyReady. Propagated says
	// whether all DPUs have the flows of the last change.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ResourceGroup is an L2 network of a tenant's own, over hosts whose DPUs are
// anywhere on the network fabric.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rg,categories=bedplate
// +kubebuilder:printcolumn:name="Tenant",type=string,JSONPath=`.spec.tenantIdentifier`
// +kubebuilder:printcolumn:name="Network",type=string,JSONPath=`.spec.network.ip`
// +kubebuilder:printcolumn:name="Prefix",type=integer,JSONPath=`.spec.network.prefixLength`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.networkImplementationType`
// +kubebuilder:printcolumn:name="Members",type=integer,JSONPath=`.status.managedResourceCount`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ResourceGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the network as it should be.
	// +required
	Spec ResourceGroupSpec `json:"spec,omitempty"`

	// status is the network as it is.
	// +optional
	Status ResourceGroupStatus `json:"status,omitempty"`
}

// GetConditions returns the group's conditions.
func (g *ResourceGroup) GetConditions() []metav1.Condition { return g.Status.Conditions }

// SetConditions replaces the group's conditions.
func (g *ResourceGroup) SetConditions(conditions []metav1.Condition) {
	g.Status.Conditions = conditions
}

// ResourceGroupList is a list of ResourceGroups.
//
// +kubebuilder:object:root=true
type ResourceGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ResourceGroup `json:"items"`
}
