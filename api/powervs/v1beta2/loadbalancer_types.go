package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VPCLoadBalancerSpec is a load balancer of the VPC. It leads its port 6443,
// or the port of the cluster's API server, to the control plane.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.id) && has(self.name))",message="at most one of id and name may be set: keep one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.additionalListeners) || self.additionalListeners.all(l, !has(l.defaultPoolName) || has(self.backendPools) && self.backendPools.exists(p, has(p.name) && p.name == l.defaultPoolName))",fieldPath=".additionalListeners",message="defaultPoolName of each listener must be the name of one of the backendPools: add the pool, or leave defaultPoolName out"
type VPCLoadBalancerSpec struct {
	// name of the load balancer. If one of this name exists it is used and never
	// deleted; otherwise one is created. When it is omitted it is
	// <cluster>-loadbalancer-<index>, and the entry has to keep its place in the
	// list.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z]|[a-z][-a-z0-9]*[a-z0-9])$`
	Name string `json:"name,omitempty"`

	// id of a load balancer that exists, which is used and never deleted.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[-0-9a-z_]+$`
	ID string `json:"id,omitempty"`

	// public says whether the load balancer is reached from the internet.
	// Exactly one load balancer is public: its hostname becomes
	// controlPlaneEndpoint.host.
	// +optional
	// +kubebuilder:default=true
	Public *bool `json:"public,omitempty"`

	// additionalListeners are further ports that lead to machines of the
	// cluster.
	// +optional
	// +listType=map
	// +listMapKey=port
	// +kubebuilder:validation:MaxItems=50
	AdditionalListeners []AdditionalListenerSpec `json:"additionalListeners,omitempty"`

	// backendPools are the pools that listeners can lead to. A listener that
	// names none gets one of its own.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.name) || self.exists_one(b, has(b.name) && b.name == a.name))",message="names of backendPools must be unique: give one of them another name"
	BackendPools []VPCLoadBalancerBackendPoolSpec `json:"backendPools,omitempty"`

	// securityGroups that the load balancer is put into. When they are omitted
	// it is put into the default security group of the VPC.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	SecurityGroups []VPCResource `json:"securityGroups,omitempty"`

	// subnets that the load balancer is put into. When they are omitted it is
	// put into all subnets of the cluster.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=15
	Subnets []VPCResource `json:"subnets,omitempty"`
}

// VPCLoadBalancerProtocol is a protocol of listeners and pools.
//
// +kubebuilder:validation:Enum=http;https;tcp;udp
type VPCLoadBalancerProtocol string

// LoadBalancerProtocolTCP is the protocol of an API server.
const LoadBalancerProtocolTCP VPCLoadBalancerProtocol = "tcp"

// AdditionalListenerSpec is a port that leads to machines of the cluster.
type AdditionalListenerSpec struct {
	// defaultPoolName is the name of one of the backendPools. When it is omitted
	// the listener gets a pool of its own.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z]|[a-z][-a-z0-9]*[a-z0-9])$`
	DefaultPoolName string `json:"defaultPoolName,omitempty"`

	// port of the load balancer, and of the machines.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int64 `json:"port,omitempty"`

	// protocol of the listener.
	// +optional
	// +kubebuilder:default=tcp
	Protocol VPCLoadBalancerProtocol `json:"protocol,omitempty"`

	// selector chooses IBMPowerVSMachines by their labels. When it is omitted or
	// empty the port leads to all machines of the control plane. It can't be
	// changed.
	// +optional
	Selector metav1.LabelSelector `json:"selector,omitzero"`
}

// VPCLoadBalancerBackendPoolAlgorithm says which member of a pool gets a
// connection.
//
// +kubebuilder:validation:Enum=least_connections;round_robin;weighted_round_robin
type VPCLoadBalancerBackendPoolAlgorithm string

// LoadBalancerRoundRobin takes one member after the other.
const LoadBalancerRoundRobin VPCLoadBalancerBackendPoolAlgorithm = "round_robin"

// VPCLoadBalancerBackendPoolSpec is a pool that listeners lead to.
type VPCLoadBalancerBackendPoolSpec struct {
	// name of the pool, which listeners refer to. When it is omitted IBM Cloud
	// gives one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z]|[a-z][-a-z0-9]*[a-z0-9])$`
	Name string `json:"name,omitempty"`

	// algorithm says which member of the pool gets a connection.
	// +required
	Algorithm VPCLoadBalancerBackendPoolAlgorithm `json:"algorithm,omitempty"`

	// healthMonitor says which members get connections at all.
	// +required
	HealthMonitor VPCLoadBalancerHealthMonitorSpec `json:"healthMonitor,omitzero"`

	// protocol that is spoken with the members.
	// +required
	Protocol VPCLoadBalancerProtocol `json:"protocol,omitempty"`
}

// VPCLoadBalancerBackendPoolHealthMonitorType is the protocol of a health
// check.
//
// +kubebuilder:validation:Enum=http;https;tcp
type VPCLoadBalancerBackendPoolHealthMonitorType string

// LoadBalancerHealthTCP is a health check that only connects.
const LoadBalancerHealthTCP VPCLoadBalancerBackendPoolHealthMonitorType = "tcp"

// VPCLoadBalancerHealthMonitorSpec says how the members of a pool are
// checked.
//
// +kubebuilder:validation:XValidation:rule="self.delay > self.timeout",fieldPath=".timeout",message="timeout must be less than delay: choose a shorter timeout or a longer delay"
type VPCLoadBalancerHealthMonitorSpec struct {
	// delay between two checks, in seconds.
	// +required
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=60
	Delay int64 `json:"delay,omitempty"`

	// retries is how many checks fail before a member gets no more connections.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Retries int64 `json:"retries,omitempty"`

	// port that is checked. When it is omitted it is the member's.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int64 `json:"port,omitempty"`

	// timeout of a check, in seconds.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=59
	Timeout int64 `json:"timeout,omitempty"`

	// type is the protocol of the check.
	// +required
	Type VPCLoadBalancerBackendPoolHealthMonitorType `json:"type,omitempty"`

	// urlPath that is asked for, with type http or https.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^/`
	URLPath string `json:"urlPath,omitempty"`
}

// VPCLoadBalancerStatus is a load balancer that exists.
type VPCLoadBalancerStatus struct {
	// id of the load balancer.
	// +optional
	ID string `json:"id,omitempty"`

	// state of the load balancer in the VPC API's words, such as active.
	// +optional
	State string `json:"state,omitempty"`

	// hostname of the load balancer.
	// +optional
	Hostname string `json:"hostname,omitempty"`

	// controllerCreated says whether the load balancer was created for this
	// cluster, and is deleted with it.
	// +optional
	// +kubebuilder:default=false
	ControllerCreated bool `json:"controllerCreated,omitempty"`
}
