package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
)

// FabricPolicyName is that of the one FabricPolicy of a site.
const FabricPolicyName = "default"

// FabricPolicySpec says what holds for the hosts of all tenants when they send to the fabric, or hear from it. What isn't
// named is left to the security groups of the tenants.
type FabricPolicySpec struct {
	// fabricPrefixes are the networks of the data centre. What a host with a PublicIP
	// begins to send there leaves with its fabric IP, everything else with its public
	// IP. Without one, all of it leaves with the public IP.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	FabricPrefixes []resourcev1.IPPrefix `json:"fabricPrefixes,omitempty"`

	// deniedPrefixes are networks that no host reaches, and that reach no host. What
	// hosts need to be on their own network, such as ff00::/8, can't be denied.
	// Nothing of that leaves for the fabric anyhow.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:XValidation:rule="!isCIDR(self) || !['169.254.128.0/17', '255.255.255.255/32', 'fe80::/10', 'ff00::/8'].exists(n, cidr(n).containsCIDR(self))",message="hosts need this on their own network, and it never leaves for the fabric: leave it out"
	DeniedPrefixes []resourcev1.IPPrefix `json:"deniedPrefixes,omitempty"`

	// dpuPrefixes are networks in which there are the DPUs' own addresses and nothing
	// else: management networks, say. No host reaches them, whatever sharedServices
	// say. Those in a DPU's certificate needn't be here.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	DPUPrefixes []resourcev1.IPPrefix `json:"dpuPrefixes,omitempty"`

	// reservedPrefixes are addresses and networks of the fabric that no host gets as
	// one of its dpuIPs: gateways and other routers, say. Hosts reach them as they
	// reach others. A host that has such an address already keeps it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	ReservedPrefixes []resourcev1.IPPrefix `json:"reservedPrefixes,omitempty"`

	// sharedServices are networks, such as that of a storage, which every host
	// reaches, whatever deniedPrefixes and security groups say.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	SharedServices []resourcev1.IPPrefix `json:"sharedServices,omitempty"`

	// dhcpServers are the servers that ResourceGroups may name as their dhcpServer:
	// DPUs speak to it themselves, past all that is denied to hosts. An empty list
	// allows none. Without the field any may be named that hosts may reach.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	DHCPServers []resourcev1.IPAddress `json:"dhcpServers,omitzero"`
}

// FabricPolicy is what the operator of a site allows and denies to all tenants. There is one, which is called default.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=bedplate
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'default'",message="there is one FabricPolicy, called default"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FabricPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the policy.
	// +required
	Spec FabricPolicySpec `json:"spec,omitempty"`
}

// FabricPolicyList is a list of FabricPolicies.
//
// +kubebuilder:object:root=true
type FabricPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FabricPolicy `json:"items"`
}
