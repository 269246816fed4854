package v1alpha1

// DefaultSecurityGroup is the one that a member is in that names none.
const DefaultSecurityGroup = "default"

// SecurityGroup is a set of rules for those who are in it. A rule lets traffic through, with its answers. In each direction
// a member lets through what a rule of one of its groups for that direction allows, and nothing else.
//
// What a host needs to be on a network at all always passes, even where no rule lets anything through: ARP, DHCP, ICMP errors
// about traffic that passes, and of ICMPv6 neighbour discovery, router solicitations and advertisements, and multicast listener
// reports (MLD), whichever host of the network sends them.
type SecurityGroup struct {
	// name of the security group, unique in the ResourceGroup.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// rules of the group. Without one, nothing passes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Rules []SecurityRule `json:"rules,omitempty"`
}

// SecurityDirection is seen from the member.
//
// +kubebuilder:validation:Enum=Ingress;Egress
type SecurityDirection string

const (
	// Ingress is what others begin to send to the member.
	Ingress SecurityDirection = "Ingress"
	// Egress is what the member begins to send to others.
	Egress SecurityDirection = "Egress"
)

// SecurityProtocol is what is carried over IP.
//
// +kubebuilder:validation:Enum=Any;TCP;UDP;ICMP
type SecurityProtocol string

// Protocols. ICMP is that of both IP versions.
const (
	AnyProtocol  SecurityProtocol = "Any"
	TCPProtocol  SecurityProtocol = "TCP"
	UDPProtocol  SecurityProtocol = "UDP"
	ICMPProtocol SecurityProtocol = "ICMP"
)

// SecurityRule lets traffic through.
//
// +kubebuilder:validation:XValidation:rule="!has(self.ports) || size(self.ports) == 0 || self.protocol == 'TCP' || self.protocol == 'UDP'",fieldPath=".ports",message="only TCP and UDP have ports: choose one of them, or leave the ports out"
type SecurityRule struct {
	// direction as the member sees it.
	// +required
	Direction SecurityDirection `json:"direction,omitempty"`

	// protocol that is let through.
	// +optional
	// +kubebuilder:default=Any
	Protocol SecurityProtocol `json:"protocol,omitempty"`

	// ports of the destination. Without them, all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Ports []PortRange `json:"ports,omitempty"`

	// prefixes of the other end's addresses.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Prefixes []IPPrefix `json:"prefixes,omitempty"`

	// securityGroups whose members are the other end. With neither prefixes nor
	// securityGroups everybody is; with both, who is in either.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	SecurityGroups []string `json:"securityGroups,omitempty"`
}

// PortRange is one port or several.
//
// +kubebuilder:validation:XValidation:rule="!has(self.last) || self.last >= self.first",fieldPath=".last",message="last must not be less than first"
type PortRange struct {
	// first port.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	First int32 `json:"first,omitempty"`

	// last port. Without it the range is the first one only.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Last int32 `json:"last,omitempty"`
}
