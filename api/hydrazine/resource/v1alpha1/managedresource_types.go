package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ResourceType says what a ManagedResource is.
//
// +kubebuilder:validation:Enum=BareMetal
type ResourceType string

// BareMetal is a host whose only way to the network is its DPU.
const BareMetal ResourceType = "BareMetal"

// ManagedResourceState says whether a host may use its network.
//
// +kubebuilder:validation:Enum=Attached;Isolated
type ManagedResourceState string

const (
	// Attached means that the host is on the network of its group.
	Attached ManagedResourceState = "Attached"
	// Isolated means that the host reaches no other and none reaches it, while everything that is known of it stays.
	Isolated ManagedResourceState = "Isolated"
)

// HostAccess says from where a host can be reached. Each value includes those before it.
//
// +kubebuilder:validation:Enum=NetworkAccess;FabricAccess;PublicAccess
type HostAccess string

const (
	// NetworkAccess is from within its own network only. With a second DPU IP the host itself reaches the data centre through
	// it, and answers come back; without one it reaches its own network only.
	NetworkAccess HostAccess = "NetworkAccess"
	// FabricAccess is also from within the data centre, by its second DPU IP.
	FabricAccess HostAccess = "FabricAccess"
	// PublicAccess is also from the internet, by a PublicIP.
	PublicAccess HostAccess = "PublicAccess"
)

// IPAssociation says which of the host's, the DPU's and the public addresses belong together.
type IPAssociation struct {
	// hostIP is an overlay IP assigned to the host.
	// +optional
	HostIP IPAddress `json:"hostIP,omitempty"`

	// fabricIP is a fabric IP assigned to the DPU; the host is reached by it from
	// within the data centre.
	// +optional
	FabricIP IPAddress `json:"fabricIP,omitempty"`

	// publicIP is the public IP associated with the fabricIP.
	// +optional
	PublicIP IPAddress `json:"publicIP,omitempty"`
}

// ManagedResourceSpec defines the desired state of ManagedResource.
//
// +kubebuilder:validation:XValidation:rule="self.hostAccess == 'NetworkAccess' || size(self.dpuIPs) >= 2",fieldPath=".dpuIPs",message="to be reached from outside its network a host needs a second DPU IP: add it, or choose hostAccess NetworkAccess"
// +kubebuilder:validation:XValidation:rule="size(self.dpuIPs) < 2 || !isIP(self.hostIP) || !isIP(self.dpuIPs[1]) || ip(self.hostIP).family() == ip(self.dpuIPs[1]).family()",fieldPath=".dpuIPs",message="hostIP and the second of dpuIPs must both be IPv4 or both IPv6: one is translated into the other"
// +kubebuilder:validation:XValidation:rule="!has(self.secondHostIP) || !isIP(self.hostIP) || !isIP(self.secondHostIP) || ip(self.hostIP).family() != ip(self.secondHostIP).family()",fieldPath=".secondHostIP",message="hostIP and secondHostIP must be of different IP versions: one IPv4, the other IPv6"
// +kubebuilder:validation:XValidation:rule="size(self.dpuIPs) < 3 || (has(self.secondHostIP) && (!isIP(self.secondHostIP) || !isIP(self.dpuIPs[2]) || ip(self.secondHostIP).family() == ip(self.dpuIPs[2]).family()))",fieldPath=".dpuIPs",message="secondHostIP and the third of dpuIPs must both be IPv4 or both IPv6: one is translated into the other"
type ManagedResourceSpec struct {
	// resourceGroup is the name of the ResourceGroup, in the same namespace, whose
	// network the host is on. Another name moves the host: it leaves the old
	// network before it joins the new one.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// type of this resource: BareMetal is a host behind a DPU.
	// +optional
	// +kubebuilder:default=BareMetal
	Type ResourceType `json:"type,omitempty"`

	// State is Attached for a host that uses its network, Isolated for one that is
	// to reach no other host for the time being.
	// +optional
	// +kubebuilder:default=Attached
	State ManagedResourceState `json:"State,omitempty"`

	// hostIP is the host's address in the network of its group, unique there.
	// +required
	HostIP IPAddress `json:"hostIP,omitempty"`

	// secondHostIP is the host's address in the second network of its group, unique
	// there. A group with two networks may have hosts with one address.
	// +optional
	SecondHostIP IPAddress `json:"secondHostIP,omitempty"`

	// hostMAC is the Ethernet address of the host's interface, unique in its group.
	// The host can send under no other.
	// +required
	HostMAC MACAddress `json:"hostMAC,omitempty"`

	// dpuIPs are the fabric's addresses for the DPU's uplink. The first is the DPU's
	// own: its agent is called there, and tunnels end there. The second is kept for
	// the host and assigned to no other: the host's traffic has it outside the
	// overlay. The third is the same for secondHostIP.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	DPUIPs []IPAddress `json:"dpuIPs,omitempty"`

	// hostAccess says from where the host can be reached: NetworkAccess, from its
	// own network; FabricAccess, from the data centre too; PublicAccess, from the
	// internet too.
	// +optional
	// +kubebuilder:default=NetworkAccess
	HostAccess HostAccess `json:"hostAccess,omitempty"`

	// identifier names the host's port on a DPU with several, such as pf1hpf.
	// Without it the DPU has to have just one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Identifier string `json:"identifier,omitempty"`

	// securityGroups of its ResourceGroup that the host is in. Without one it is in
	// "default", if the group has that.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	SecurityGroups []string `json:"securityGroups,omitempty"`
}

// LogicalPortReference says where the host is connected to the overlay.
type LogicalPortReference struct {
	// logicalPort is the name of the logical switch port.
	// +optional
	LogicalPort string `json:"logicalPort,omitempty"`

	// dpu is the name of the DPU, as OVN knows it: its chassis.
	// +optional
	DPU string `json:"dpu,omitempty"`

	// agent is the address that the DPU's agent is called at.
	// +optional
	Agent IPAddress `json:"agent,omitempty"`

	// groupUID is the UID of the ResourceGroup whose network that is.
	// +optional
	GroupUID types.UID `json:"groupUID,omitempty"`

	// fabricIP is the second DPU IP that the next two are about.
	// +optional
	FabricIP IPAddress `json:"fabricIP,omitempty"`

	// fabricPrefixLength is the length of the prefix of the uplink's network that
	// the second DPU IP is in, as the agent has reported it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	FabricPrefixLength int32 `json:"fabricPrefixLength,omitempty"`

	// fabricGateway is the fabric's router there, as the agent has reported it.
	// +optional
	FabricGateway IPAddress `json:"fabricGateway,omitempty"`

	// secondFabricIP is the third DPU IP that the next two are about.
	// +optional
	SecondFabricIP IPAddress `json:"secondFabricIP,omitempty"`

	// secondFabricPrefixLength is the same for the third DPU IP.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	SecondFabricPrefixLength int32 `json:"secondFabricPrefixLength,omitempty"`

	// secondFabricGateway is the same for the third DPU IP.
	// +optional
	SecondFabricGateway IPAddress `json:"secondFabricGateway,omitempty"`

	// formerFabricIPs are addresses that dpuIPs has named before, and that the DPU
	// isn't known to have let go. No other host gets them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	FormerFabricIPs []IPAddress `json:"formerFabricIPs,omitempty"`
}

// ManagedResourceStatus defines the observed state of ManagedResource.
type ManagedResourceStatus struct {
	// hostAccessIPs are the IPs that the host is reached by.
	// +optional
	HostAccessIPs *IPAssociation `json:"hostAccessIPs,omitempty"`

	// secondHostAccessIPs are the same for secondHostIP.
	// +optional
	SecondHostAccessIPs *IPAssociation `json:"secondHostAccessIPs,omitempty"`

	// networkFabricReference is the logical port that this resource is connected to.
	// +optional
	LogicalPortReference *LogicalPortReference `json:"networkFabricReference,omitempty"`

	// dpuAddresses are the DPU's own addresses, as the certificate of its agent has
	// them. No host of any tenant reaches one. They stay when the host is isolated.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	DPUAddresses []IPAddress `json:"dpuAddresses,omitempty"`

	// unprovenDPUAddresses are those that the agent reports besides. Only the hosts
	// behind this DPU are kept from them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	UnprovenDPUAddresses []IPAddress `json:"unprovenDPUAddresses,omitempty"`

	// leaseExpires is the time by which the DPU isolates the host by itself if it
	// hears nothing more. It is written before the DPU is told, so no lease ends
	// later.
	// +optional
	LeaseExpires *metav1.Time `json:"leaseExpires,omitempty"`

	// lastReport is when the agent's report came that the lease counts from. While a
	// manager runs, a lease is renewed before a third of it is over: if this is older,
	// all of this status is as old.
	// +optional
	LastReport *metav1.Time `json:"lastReport,omitempty"`

	// conditions: Ready sums up Accepted, AgentReady, Attached and PortUp, and
	// PublicIPReady and DHCPReady where the host has to do with them.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ManagedResource is a host behind a DPU, and its place in the network of a
// ResourceGroup.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mr,categories=bedplate
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.resourceGroup`
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.hostIP`
// +kubebuilder:printcolumn:name="Access",type=string,JSONPath=`.spec.hostAccess`
// +kubebuilder:printcolumn:name="Fabric IP",type=string,JSONPath=`.status.hostAccessIPs.fabricIP`
// +kubebuilder:printcolumn:name="Public IP",type=string,JSONPath=`.status.hostAccessIPs.publicIP`
// +kubebuilder:printcolumn:name="DPU",type=string,JSONPath=`.status.networkFabricReference.dpu`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ManagedResource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the host's place as it should be.
	// +required
	Spec ManagedResourceSpec `json:"spec,omitempty"`

	// status is the host's place as it is.
	// +optional
	Status ManagedResourceStatus `json:"status,omitempty"`
}

// GetConditions returns the resource's conditions.
func (r *ManagedResource) GetConditions() []metav1.Condition { return r.Status.Conditions }

// SetConditions replaces the resource's conditions.
func (r *ManagedResource) SetConditions(conditions []metav1.Condition) {
	r.Status.Conditions = conditions
}

// ManagedResourceList is a list of ManagedResources.
//
// +kubebuilder:object:root=true
type ManagedResourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ManagedResource `json:"items"`
}
