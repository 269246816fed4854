package v1beta1

// NetworkSecurityGroupSpec says which traffic may pass: all that a rule
// allows, and nothing else.
//
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !(has(self.name) || has(self.labels) || has(self.rules) || has(self.statefulEgress))",message="a group of your own is used as it is: with id, remove name, labels, rules and statefulEgress"
// +kubebuilder:validation:XValidation:rule="has(self.id) || has(self.rules)",message="without rules nothing would pass, not even what a cluster needs to come up: add rules, or the id of a group of your own"
type NetworkSecurityGroupSpec struct {
	// id is the ID of a network security group of your own, to be used as it is:
	// it is never changed or deleted.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	ID string `json:"id,omitempty"`

	// name of the group, unique within the site. Without it the name of this
	// object is used.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^\S(.*\S)?$`
	Name string `json:"name,omitempty"`

	// statefulEgress lets the answers to what a machine sends come back in without
	// a rule of their own.
	// +optional
	StatefulEgress *bool `json:"statefulEgress,omitempty"`

	// labels are put on the group. Names that begin with "bedplate-" are kept for
	// Bedplate.
	// +optional
	Labels ResourceLabels `json:"labels,omitempty"`

	// rules of the group: the first one that fits decides. Traffic that none
	// fits is denied, in both directions.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=190
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.name == b.name))",message="two rules have the same name: give each its own"
	Rules []SecurityRule `json:"rules,omitempty"`
}

// RuleDirection is the direction of traffic, as a machine sees it.
//
// +kubebuilder:validation:Enum=ingress;egress
type RuleDirection string

// Directions of traffic.
const (
	Ingress RuleDirection = "ingress"
	Egress  RuleDirection = "egress"
)

// RuleProtocol is a protocol over IP.
//
// +kubebuilder:validation:Enum=tcp;udp;icmp;all
type RuleProtocol string

// Protocols of rules. Ports go with TCP and UDP only.
const (
	ProtocolTCP  RuleProtocol = "tcp"
	ProtocolUDP  RuleProtocol = "udp"
	ProtocolICMP RuleProtocol = "icmp"
	ProtocolAll  RuleProtocol = "all"
)

// RuleAction is what happens to traffic.
//
// +kubebuilder:validation:Enum=allow;deny
type RuleAction string

// Actions of rules.
const (
	Allow RuleAction = "allow"
	Deny  RuleAction = "deny"
)

// PortRange is a port such as 443, or a range such as 30000-32767.
//
// +kubebuilder:validation:MaxLength=11
// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,5}(-[0-9]{1,5})?$') && self.split('-').all(p, int(p) >= 1 && int(p) <= 65535) && int(self.split('-')[0]) <= int(self.split('-')[self.split('-').size() - 1])",message="must be a port between 1 and 65535, such as 443, or a range of ports, such as 30000-32767"
type PortRange string

// SecurityRule allows or denies some traffic.
//
// +kubebuilder:validation:XValidation:rule="self.protocol in ['tcp', 'udp'] || !(has(self.portRange) || has(self.sourcePortRange))",message="ports go with the protocols tcp and udp only: remove portRange and sourcePortRange, or choose one of these protocols"
type SecurityRule struct {
	// name of the rule, unique in its group. Names that begin with "bedplate-" are
	// kept for Bedplate.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('bedplate-')",message="names of rules that begin with bedplate- are reserved"
	Name string `json:"name,omitempty"`

	// direction of the traffic: ingress comes to the machine, egress leaves it.
	// +required
	Direction RuleDirection `json:"direction,omitempty"`

	// protocol of the traffic: tcp, udp, icmp or all.
	// +required
	Protocol RuleProtocol `json:"protocol,omitempty"`

	// portRange is the port, or the range of ports, that the traffic goes to.
	// Without it all are meant.
	// +optional
	PortRange PortRange `json:"portRange,omitempty"`

	// sourcePortRange is the port, or the range of ports, that the traffic comes
	// from. Without it all are meant.
	// +optional
	SourcePortRange PortRange `json:"sourcePortRange,omitempty"`

	// sourceCIDR is where the traffic comes from. Without it anywhere is meant.
	// +optional
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="sourceCIDR must be an IPv4 range, such as 10.0.0.0/8"
	SourceCIDR string `json:"sourceCIDR,omitempty"`

	// destinationCIDR is where the traffic goes to. Without it anywhere is meant.
	// +optional
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="destinationCIDR must be an IPv4 range, such as 10.0.0.0/8"
	DestinationCIDR string `json:"destinationCIDR,omitempty"`

	// action says what happens to the traffic: allow or deny.
	// +required
	Action RuleAction `json:"action,omitempty"`
}
