package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// KindInfrastructure is what a Cluster has at its infrastructure provider, as ledgers name it.
const KindInfrastructure = "infrastructure"

// MaxTOSCA is how long a template may be, in bytes: the spec, the copy of what was applied and kubectl's annotation are in one object.
const MaxTOSCA = 200 << 10

// Bounds of what a status has of an infrastructure: machines, bytes of the ID of one, lines of the log.
const (
	MaxVMs  = 100
	MaxVMID = 64
	MaxLog  = 10
)

// ClusterSpec says what the cluster consists of, and which clouds it may be made on. One that exists already is registered with its
// kubeconfig alone, and only observed.
//
// +kubebuilder:validation:XValidation:rule="has(self.tosca) || has(self.kubeconfig)",message="neither tosca nor kubeconfig is set: describe a cluster to be made as tosca, or register one that exists with its kubeconfig"
// +kubebuilder:validation:XValidation:rule="has(self.tosca) == has(oldSelf.tosca)",fieldPath=".tosca",message="tosca can be changed, but neither be added to a registered cluster nor be removed: write another Cluster"
type ClusterSpec struct {
	// tosca is the template of the cluster's infrastructure (TOSCA Simple Profile
	// in YAML), at most 200 KiB. Its output "kubeconfig" is required: it is how
	// the cluster is reached. A change is applied; but node templates that are
	// removed stay, because the infrastructure manager ignores that.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=204800
	TOSCA string `json:"tosca,omitempty"`

	// kubeconfig leads to the cluster. Set it only to register a cluster that
	// exists; of others it is written once they have been made.
	// +optional
	Kubeconfig *Kubeconfig `json:"kubeconfig,omitempty"`

	// constraints say which clouds the cluster may be made on. When they are
	// omitted it may be any.
	// +optional
	Constraints *Constraints `json:"constraints,omitempty"`

	// backoff is what the delay is multiplied with after each retry to reach the
	// cluster.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Backoff int32 `json:"backoff,omitempty"`

	// backoffDelay is the delay before the first retry to reach the cluster, in
	// seconds.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	BackoffDelay int32 `json:"backoffDelay,omitempty"`

	// backoffLimit is how many retries there are before a cluster that doesn't
	// answer is OFFLINE; until then it is DEGRADED. -1 means that they never end.
	// +optional
	// +kubebuilder:default=-1
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=1000000
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`

	// paused has the cluster left as it is, inside and outside, also when it is
	// deleted.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// Kubeconfig says where the kubeconfig of a cluster is.
type Kubeconfig struct {
	// secretRef names a Secret in the namespace of the Cluster, with the
	// kubeconfig under the key "value". It has exactly one context, user and
	// cluster.
	// +required
	SecretRef SecretReference `json:"secretRef,omitzero"`
}

// SecretReference names a Secret.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
}

// Constraints of a Cluster.
type Constraints struct {
	// cloud has the constraints on clouds.
	// +optional
	Cloud *CloudConstraints `json:"cloud,omitempty"`
}

// CloudConstraints are all met by a cloud that a cluster may be made on.
type CloudConstraints struct {
	// labels are constraints on the labels of a cloud, such as "location is DE",
	// "location != DE" or "location not in (DE, SK)". A cloud without the label
	// meets none of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	Labels []string `json:"labels,omitempty"`

	// metrics are constraints on the metrics of a cloud, such as "load < 0.5" or
	// "load is greater than or equal to 1". A cloud without the metric, or for
	// which it has no value now, meets none of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	Metrics []string `json:"metrics,omitempty"`
}

// ClusterStatus is what is known of a cluster.
type ClusterStatus struct {
	// conditions of this object: Ready sums them up.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// state is what the cluster does, such as CREATING or ONLINE.
	// +optional
	State ClusterState `json:"state,omitempty"`

	// reason of the state, where there is something to be said.
	// +optional
	Reason *Reason `json:"reason,omitempty"`

	// scheduledTo is the cloud that the cluster is bound to. It never changes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a cluster stays on its cloud: write another Cluster"
	ScheduledTo *CloudReference `json:"scheduledTo,omitempty"`

	// scheduledAt is when the cluster was bound.
	// +optional
	ScheduledAt *metav1.Time `json:"scheduledAt,omitempty"`

	// runningOn is the cloud that the infrastructure was made on.
	// +optional
	RunningOn *CloudReference `json:"runningOn,omitempty"`

	// clusterID is the ID of the infrastructure at its provider.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// lastAppliedTosca is the template that was applied last.
	// +optional
	LastAppliedTOSCA string `json:"lastAppliedTosca,omitempty"`

	// lastAppliedToscaHash is the hash of that template, whatever its order of
	// keys, comments and formatting. The infrastructure carries it, too.
	// +optional
	LastAppliedTOSCAHash string `json:"lastAppliedToscaHash,omitempty"`

	// retries is how many attempts to reach the cluster have failed since the
	// last one that succeeded.
	// +optional
	Retries int32 `json:"retries,omitempty"`

	// vms are the virtual machines of the infrastructure, at most 100, as they
	// were seen last: first those that aren't configured.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=100
	VMs []VMStatus `json:"vms,omitempty"`

	// log is the end of the provider's log, at most 10 lines, as long as the
	// infrastructure is failed or unconfigured. It has no credentials.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=310
	Log []string `json:"log,omitempty"`

	// nodes of the cluster, at most 500: first those with a problem.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=500
	Nodes []NodeStatus `json:"nodes,omitempty"`
}

// CloudReference names a cloud that a Cluster can be bound to.
type CloudReference struct {
	// kind is Cloud, of the namespace of the Cluster, or GlobalCloud.
	// +required
	// +kubebuilder:validation:Enum=Cloud;GlobalCloud
	Kind string `json:"kind,omitempty"`

	// name of the cloud.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// String is for people.
func (r CloudReference) String() string { return r.Kind + " " + r.Name }

// VMStatus is how a virtual machine was seen last.
type VMStatus struct {
	// id that the provider gave it, such as 0.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// state in the provider's word, such as configured.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state,omitempty"`
}

// NodeStatus is how a node of a cluster was seen last.
type NodeStatus struct {
	// name of the Node.
	// +required
	Name string `json:"name,omitempty"`

	// conditions of the Node.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []NodeCondition `json:"conditions,omitempty"`
}

// NodeCondition is one of a Node, without its times.
type NodeCondition struct {
	// type of the condition, such as MemoryPressure.
	// +required
	Type string `json:"type,omitempty"`

	// status is True, False or Unknown.
	// +optional
	Status string `json:"status,omitempty"`

	// reason in the kubelet's word.
	// +optional
	Reason string `json:"reason,omitempty"`

	// message of the kubelet.
	// +optional
	Message string `json:"message,omitempty"`
}

// Cluster is a Kubernetes cluster that is made on the best matching cloud, or
// one that exists and is observed.
//
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 63",optionalOldSelf=true,fieldPath=".metadata",message="the Secret with the kubeconfig has a label with the name of this object, which may have 63 characters: choose a shorter one"
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusters,scope=Namespaced,shortName=krc,categories=krake
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.state",description="What the cluster does"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.reason.code",description="Why"
// +kubebuilder:printcolumn:name="Cloud",type="string",JSONPath=".status.scheduledTo.name",description="Cloud that the cluster is bound to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="The cluster can be used"
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.clusterID",description="ID of the infrastructure at its provider",priority=1
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What it waits for",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type Cluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what the cluster consists of, and which clouds it may be made on.
	// +required
	Spec ClusterSpec `json:"spec,omitzero"`

	// status is what is known of the cluster.
	// +optional
	Status ClusterStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the object.
func (c *Cluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (c *Cluster) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// OutsideIDs are the IDs of what the status says was created for the cluster.
func (c *Cluster) OutsideIDs() []ledgerv1.OutsideID {
	if c.Status.ClusterID == "" {
		return nil
	}
	return []ledgerv1.OutsideID{{Kind: KindInfrastructure, ID: c.Status.ClusterID}}
}

// ClusterList is a list of Clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}
