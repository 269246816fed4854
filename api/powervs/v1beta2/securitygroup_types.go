package v1beta2

// VPCSecurityGroup is a security group of the VPC.
//
// +kubebuilder:validation:XValidation:rule="has(self.id) != has(self.name)",message="exactly one of id and name must be set"
type VPCSecurityGroup struct {
	// id of a security group that exists, which is used and neither changed nor
	// deleted.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// name of the security group. If the VPC has one of this name it is used,
	// and neither changed nor deleted; otherwise one is created.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z]|[a-z][-a-z0-9]*[a-z0-9])$`
	Name string `json:"name,omitempty"`

	// rules of a security group that is created. Each of their remotes is a rule
	// in the VPC, which allows 250 in a group.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Rules []VPCSecurityGroupRule `json:"rules,omitempty"`

	// tags of the security group. They are not used.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Tags []string `json:"tags,omitempty"`
}

// VPCSecurityGroupRuleAction is what a rule does with traffic.
//
// +kubebuilder:validation:Enum=allow
type VPCSecurityGroupRuleAction string

// SecurityGroupAllow is what all rules of security groups do.
const SecurityGroupAllow VPCSecurityGroupRuleAction = "allow"

// VPCSecurityGroupRuleDirection is the direction of traffic, seen from the
// machine.
//
// +kubebuilder:validation:Enum=inbound;outbound
type VPCSecurityGroupRuleDirection string

// Directions of traffic.
const (
	SecurityGroupInbound  VPCSecurityGroupRuleDirection = "inbound"
	SecurityGroupOutbound VPCSecurityGroupRuleDirection = "outbound"
)

// VPCSecurityGroupRuleProtocol is the protocol of traffic.
//
// +kubebuilder:validation:Enum=all;icmp;tcp;udp
type VPCSecurityGroupRuleProtocol string

// Protocols of traffic.
const (
	SecurityGroupProtocolAll  VPCSecurityGroupRuleProtocol = "all"
	SecurityGroupProtocolICMP VPCSecurityGroupRuleProtocol = "icmp"
	SecurityGroupProtocolTCP  VPCSecurityGroupRuleProtocol = "tcp"
	SecurityGroupProtocolUDP  VPCSecurityGroupRuleProtocol = "udp"
)

// VPCSecurityGroupRuleRemoteType says how the other side of traffic is
// named.
//
// +kubebuilder:validation:Enum=any;cidr;address;sg
type VPCSecurityGroupRuleRemoteType string

// Ways to name the other side of traffic.
const (
	SecurityGroupRemoteAny     VPCSecurityGroupRuleRemoteType = "any"
	SecurityGroupRemoteCIDR    VPCSecurityGroupRuleRemoteType = "cidr"
	SecurityGroupRemoteAddress VPCSecurityGroupRuleRemoteType = "address"
	SecurityGroupRemoteGroup   VPCSecurityGroupRuleRemoteType = "sg"
)

// VPCSecurityGroupRule allows traffic.
//
// +kubebuilder:validation:XValidation:rule="has(self.direction) && self.direction == 'inbound' ? has(self.source) && !has(self.destination) : has(self.destination) && !has(self.source)",message="a rule for inbound traffic has a source, one for outbound traffic has a destination, and none has both"
type VPCSecurityGroupRule struct {
	// action is allow: a security group refuses all traffic that no rule allows.
	// +required
	Action VPCSecurityGroupRuleAction `json:"action,omitempty"`

	// destination of outbound traffic.
	// +optional
	Destination *VPCSecurityGroupRulePrototype `json:"destination,omitempty"`

	// direction of the traffic: inbound comes to the members of the group.
	// +required
	Direction VPCSecurityGroupRuleDirection `json:"direction,omitempty"`

	// securityGroupID is ignored: a rule belongs to the group that it is written
	// in.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SecurityGroupID string `json:"securityGroupID,omitempty"`

	// source of inbound traffic.
	// +optional
	Source *VPCSecurityGroupRulePrototype `json:"source,omitempty"`
}

// VPCSecurityGroupRulePrototype is the traffic that a rule allows.
//
// +kubebuilder:validation:XValidation:rule="self.protocol == 'icmp' || !has(self.icmpCode) && !has(self.icmpType)",message="icmpCode and icmpType go with protocol icmp only: remove them"
// +kubebuilder:validation:XValidation:rule="self.protocol in ['tcp', 'udp'] || !has(self.portRange)",fieldPath=".portRange",message="portRange goes with the protocols tcp and udp only: remove it"
// +kubebuilder:validation:XValidation:rule="!has(self.icmpCode) || has(self.icmpType)",fieldPath=".icmpCode",message="icmpCode goes with icmpType only: set it, too"
type VPCSecurityGroupRulePrototype struct {
	// icmpCode of the traffic, with protocol icmp. When it is omitted it is any.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	ICMPCode *int64 `json:"icmpCode,omitempty"`

	// icmpType of the traffic, with protocol icmp. When it is omitted it is any.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=254
	ICMPType *int64 `json:"icmpType,omitempty"`

	// portRange of the traffic, with protocol tcp or udp. When it is omitted it
	// is all ports.
	// +optional
	PortRange *VPCSecurityGroupPortRange `json:"portRange,omitempty"`

	// protocol of the traffic.
	// +required
	Protocol VPCSecurityGroupRuleProtocol `json:"protocol,omitempty"`

	// remotes are the other sides of the traffic. Each of them is a rule in the
	// VPC.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Remotes []VPCSecurityGroupRuleRemote `json:"remotes,omitempty"`
}

// VPCSecurityGroupPortRange is a range of ports.
//
// +kubebuilder:validation:XValidation:rule="self.maximumPort >= self.minimumPort",message="maximumPort can't be less than minimumPort"
type VPCSecurityGroupPortRange struct {
	// maximumPort is the last port of the range.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	MaximumPort int64 `json:"maximumPort,omitempty"`

	// minimumPort is the first port of the range.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	MinimumPort int64 `json:"minimumPort,omitempty"`
}

// VPCSecurityGroupRuleRemote is the other side of traffic.
//
// +kubebuilder:validation:XValidation:rule="(self.remoteType == 'cidr') == has(self.cidrSubnetName)",fieldPath=".cidrSubnetName",message="cidrSubnetName goes with remoteType cidr, and only with that"
// +kubebuilder:validation:XValidation:rule="(self.remoteType == 'address') == has(self.address)",fieldPath=".address",message="address goes with remoteType address, and only with that"
// +kubebuilder:validation:XValidation:rule="(self.remoteType == 'sg') == has(self.securityGroupName)",fieldPath=".securityGroupName",message="securityGroupName goes with remoteType sg, and only with that"
type VPCSecurityGroupRuleRemote struct {
	// cidrSubnetName is the name of a subnet of the VPC whose range is the other
	// side, with remoteType cidr.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	CIDRSubnetName string `json:"cidrSubnetName,omitempty"`

	// address is the IPv4 address of the other side, with remoteType address.
	// +optional
	// +kubebuilder:validation:Format=ipv4
	Address string `json:"address,omitempty"`

	// remoteType says how the other side is named: any (everything), cidr (the
	// range of a subnet), address (one address) or sg (the members of a security
	// group).
	// +required
	RemoteType VPCSecurityGroupRuleRemoteType `json:"remoteType,omitempty"`

	// securityGroupName is the name of a security group of the VPC whose members
	// are the other side, with remoteType sg.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	SecurityGroupName string `json:"securityGroupName,omitempty"`
}

// VPCSecurityGroupStatus is a security group that exists.
type VPCSecurityGroupStatus struct {
	// id of the security group.
	// +optional
	ID string `json:"id,omitempty"`

	// ruleIDs are the IDs of the rules that were created in it.
	// +optional
	// +listType=atomic
	RuleIDs []string `json:"ruleIDs,omitempty"`

	// controllerCreated says whether the security group was created for this
	// cluster, and is deleted with it.
	// +optional
	// +kubebuilder:default=false
	ControllerCreated bool `json:"controllerCreated,omitempty"`
}
