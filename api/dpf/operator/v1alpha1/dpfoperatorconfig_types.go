package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxHosts is how many hosts a configuration has at most.
const MaxHosts = 2000

// DPFOperatorConfigSpec says how the DOCA Platform Framework is installed.
type DPFOperatorConfigSpec struct {
	// imagePullSecrets name Secrets of the type
	// kubernetes.io/dockerconfigjson in the namespace of this object.
	// System components use them, also on DPU clusters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`

	// bfbPersistentVolume is the name of the PersistentVolume that the DPU
	// provisioning controller keeps BlueField images on.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	BFBPersistentVolume string `json:"bfbPersistentVolume,omitempty"`

	// imageOverrides are images of components, by their keys, such as
	// "dpuservice: localhost:5000/my-image". The others have the images of the
	// release.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['dpuservice', 'servicefunctionchain', 'provisioning', 'hostnetworkprovisioner', 'ovnkubernetes', 'servicechainset', 'servicechain', 'serviceipamset', 'serviceipam', 'serviceinterfaceset', 'serviceinterface', 'dpucniprovisioner'])",message="each key is a component: one of dpuservice, servicefunctionchain, provisioning, hostnetworkprovisioner, ovnkubernetes, servicechainset, servicechain, serviceipamset, serviceipam, serviceinterfaceset, serviceinterface, dpucniprovisioner"
	ImageOverrides map[string]Image `json:"imageOverrides,omitempty"`

	// hostNetworkConfiguration moves the network of the workers with DPUs onto
	// them. Without it no network is touched; if it is removed, the network
	// moves back.
	// +optional
	HostNetworkConfiguration *HostNetworkConfiguration `json:"hostNetworkConfiguration,omitempty"`

	// paused has everything left as it is, also when this object is deleted.
	// NVIDIA's operator has it as overrides.paused.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// Image is the reference of a container image: a registry with or without a port, a path, and a tag, a digest or both.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:XValidation:rule="self.matches('^((\\\\[[0-9a-fA-F:]+\\\\]|[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*)(:[0-9]{1,5})?/)?[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$')",message="must be the reference of an image, such as nvcr.io/nvidia/doca/dpuservice:v1.0, localhost:5000/my-image or one with @sha256: and 64 hexadecimal digits"
type Image string

// Interface is the name of a network interface: at most 15 bytes, as Linux has it.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=15
// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_][A-Za-z0-9_.-]*$')",message="must be the name of a network interface, such as ens2f0np0"
type Interface string

// NodeName is the name of a node.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
type NodeName string

// AddressWithPrefix is an IPv4 address of a host, with the length of its network's prefix. The webhook refuses the addresses that a network
// has reserved: in a rule for each of 2,000 hosts that is too expensive for an API server.
//
// +kubebuilder:validation:MinLength=9
// +kubebuilder:validation:MaxLength=18
// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4 && cidr(self).prefixLength() <= 31",message="must be an IPv4 address with the length of its prefix, at most 31, such as 10.0.96.10/24"
type AddressWithPrefix string

// HostNetworkConfiguration says what the network of the workers becomes.
//
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.CIDR) || self.hosts.all(h, !isIP(h.gateway) || cidr(self.CIDR).containsIP(h.gateway))",fieldPath=".hosts",message="the gateway of each host must be in CIDR"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.CIDR) || self.hosts.all(h, !isCIDR(h.hostIP) || cidr(self.CIDR).containsIP(cidr(h.hostIP).ip()))",fieldPath=".hosts",message="the hostIP of each host must be in CIDR"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.CIDR) || self.hosts.all(h, !isCIDR(h.dpuIP) || cidr(self.CIDR).containsIP(cidr(h.dpuIP).ip()))",fieldPath=".hosts",message="the dpuIP of each host must be in CIDR"
// +kubebuilder:validation:XValidation:rule="self.hostPF0 != self.hostPF0VF0",fieldPath=".hostPF0VF0",message="hostPF0VF0 is a virtual function of hostPF0, not hostPF0 itself"
type HostNetworkConfiguration struct {
	// hostPF0 is the interface of the hosts that leads to the DPU, such as
	// ens2f0np0.
	// +required
	HostPF0 Interface `json:"hostPF0,omitempty"`

	// hostPF0VF0 is the first virtual function of hostPF0, such as
	// enp23s0f0v0: ovn-kubernetes' management port.
	// +required
	HostPF0VF0 Interface `json:"hostPF0VF0,omitempty"`

	// CIDR has the tunnel endpoints of all hosts and DPUs.
	// +required
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4 && cidr(self) == cidr(self).masked()",message="CIDR must be an IPv4 network without bits behind its prefix, such as 10.0.96.0/20"
	CIDR string `json:"CIDR,omitempty"`

	// hosts are the workers with DPUs, at most 2,000. All names and all IPs
	// are different.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2000
	Hosts []Host `json:"hosts,omitempty"`

	// maxUnavailable is how many nodes are moved at a time. It is Bedplate's.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2000
	MaxUnavailable int32 `json:"maxUnavailable,omitempty"`

	// nodeTimeout is how long a node may be in one phase of the move. Then it
	// gets its network back, and no other node is begun until the spec changes.
	// It is Bedplate's.
	// +optional
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="choose a time from 1m to 24h"
	NodeTimeout metav1.Duration `json:"nodeTimeout,omitempty,omitzero"`
}

// Host is a worker with its DPU.
//
// +kubebuilder:validation:XValidation:rule="!isIP(self.gateway) || !isCIDR(self.hostIP) || cidr(self.hostIP).containsIP(self.gateway)",fieldPath=".gateway",message="the gateway must be in the network of hostIP"
// +kubebuilder:validation:XValidation:rule="!isIP(self.gateway) || !isCIDR(self.dpuIP) || cidr(self.dpuIP).containsIP(self.gateway)",fieldPath=".gateway",message="the gateway must be in the network of dpuIP"
// +kubebuilder:validation:XValidation:rule="self.hostIP.split('/')[0] != self.gateway && self.dpuIP.split('/')[0] != self.gateway && self.hostIP.split('/')[0] != self.dpuIP.split('/')[0]",message="hostIP, dpuIP and gateway must be three addresses"
type Host struct {
	// hostClusterNodeName is the node of the worker in the host cluster.
	// +required
	HostClusterNodeName NodeName `json:"hostClusterNodeName,omitempty"`

	// dpuClusterNodeName is the node of its DPU in a DPU cluster.
	// +required
	DPUClusterNodeName NodeName `json:"dpuClusterNodeName,omitempty"`

	// hostIP is what hostPF0 gets, such as 10.0.96.10/24.
	// +required
	HostIP AddressWithPrefix `json:"hostIP,omitempty"`

	// dpuIP is the tunnel endpoint on the DPU, such as 10.0.96.20/24.
	// +required
	DPUIP AddressWithPrefix `json:"dpuIP,omitempty"`

	// gateway leads to the rest of CIDR, such as 10.0.96.254.
	// +required
	// +kubebuilder:validation:MinLength=7
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4",message="gateway must be an IPv4 address, such as 10.0.96.254"
	Gateway string `json:"gateway,omitempty"`
}

// DPFOperatorConfigStatus is what is known of the installation.
type DPFOperatorConfigStatus struct {
	// observedGeneration is the generation of the spec that the conditions are
	// about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions of this object: Ready sums them up.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// nodes with DPUs, and how far their network is.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2000
	Nodes []NodeStatus `json:"nodes,omitempty"`

	// dpuClusters are those that were found.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	DPUClusters []DPUClusterStatus `json:"dpuClusters,omitempty"`
}

// NodeStatus is how far the network of a node is.
type NodeStatus struct {
	// name of the node in the host cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// phase of the move.
	// +required
	Phase NodePhase `json:"phase,omitempty"`

	// since when the node is in this phase. It is omitted of one that is
	// Pending.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// message says what is waited for, or what has failed.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// DPUClusterStatus is what is known of a DPU cluster.
type DPUClusterStatus struct {
	// namespace of its kubeconfig's Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// reachable says that its API server answers.
	// +optional
	Reachable bool `json:"reachable,omitempty"`

	// message says why it isn't reachable.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// DPFOperatorConfig installs the DOCA Platform Framework. There is one, called dpfoperatorconfig in the namespace dpf-operator-system.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=dpfoperatorconfigs,scope=Namespaced,categories=dpf
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'dpfoperatorconfig'",message="there is one DPFOperatorConfig: call it dpfoperatorconfig"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Components",type=string,JSONPath=".status.conditions[?(@.type==\"SystemComponentsReady\")].status"
// +kubebuilder:printcolumn:name="Network",type=string,JSONPath=".status.conditions[?(@.type==\"HostNetworkConfigured\")].status"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=".status.conditions[?(@.type==\"Ready\")].message",priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type DPFOperatorConfig struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec DPFOperatorConfigSpec `json:"spec,omitzero"`
	// +optional
	Status DPFOperatorConfigStatus `json:"status,omitzero"`
}

// DPFOperatorConfigList is a list of DPFOperatorConfigs.
//
// +kubebuilder:object:root=true
type DPFOperatorConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DPFOperatorConfig `json:"items"`
}

// GetConditions returns the conditions, for Cluster API's helpers.
func (c *DPFOperatorConfig) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions.
func (c *DPFOperatorConfig) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}
