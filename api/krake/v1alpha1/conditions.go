package v1alpha1

// ClusterFinalizer keeps a Cluster until its infrastructure is gone. It is Krake's infrastructure_resources_deletion, with the domain that
// Kubernetes asks for.
const ClusterFinalizer = "krake.bedplate.dev/infrastructure_resources_deletion"

// ReadyCondition of any kind sums up all others.
const ReadyCondition = "Ready"

// Conditions of a Cluster. Each is True when its subject is as the spec wants it; otherwise its message names the object concerned and
// the remedy.
const (
	// ScheduledCondition: the Cluster is bound to a cloud. Its message names every cloud, and why it wasn't chosen.
	ScheduledCondition = "Scheduled"
	// TemplateValidCondition: the TOSCA template is valid for Bedplate and for the infrastructure provider.
	TemplateValidCondition = "TemplateValid"
	// InfrastructureReadyCondition: the infrastructure exists and is configured.
	InfrastructureReadyCondition = "InfrastructureReady"
	// KubeconfigReadyCondition: the kubeconfig is valid and in its Secret.
	KubeconfigReadyCondition = "KubeconfigReady"
	// ReachableCondition: the cluster's API server answers. Of a provider: it answers, and takes the login.
	ReachableCondition = "Reachable"
	// NodesHealthyCondition: all nodes are ready and under no pressure.
	NodesHealthyCondition = "NodesHealthy"
)

// BoundCondition of a CloudBinding: the Cluster is bound to the cloud.
const BoundCondition = "Bound"

// MetricsAvailableCondition of a cloud: all of its metrics have values.
const MetricsAvailableCondition = "MetricsAvailable"

// DeletingCondition of a cloud or a provider that is being deleted: what still uses it.
const DeletingCondition = "Deleting"

// ClusterState is what a Cluster does, in Krake's words.
//
// +kubebuilder:validation:Enum=PENDING;CREATING;RECONCILING;DELETING;FAILING_RECONCILIATION;FAILED;CONNECTING;ONLINE;NOTREADY;UNHEALTHY;DEGRADED;OFFLINE
type ClusterState string

// States of a Cluster whose infrastructure is being worked on.
const (
	// StatePending: nothing exists yet.
	StatePending ClusterState = "PENDING"
	// StateCreating: the infrastructure is being created.
	StateCreating ClusterState = "CREATING"
	// StateReconciling: the infrastructure is being changed.
	StateReconciling ClusterState = "RECONCILING"
	// StateDeleting: the infrastructure is being deleted.
	StateDeleting ClusterState = "DELETING"
	// StateFailingReconciliation: the infrastructure isn't as it should be; it is reconfigured.
	StateFailingReconciliation ClusterState = "FAILING_RECONCILIATION"
	// StateFailed: a person has to correct something, as the reason says.
	StateFailed ClusterState = "FAILED"
	// StateConnecting: the infrastructure is configured, and its kubeconfig known.
	StateConnecting ClusterState = "CONNECTING"
)

// States of a Cluster that is observed.
const (
	// StateOnline: all nodes are ready.
	StateOnline ClusterState = "ONLINE"
	// StateNotReady: a node isn't ready.
	StateNotReady ClusterState = "NOTREADY"
	// StateUnhealthy: a node has too little memory, disk or process IDs.
	StateUnhealthy ClusterState = "UNHEALTHY"
	// StateDegraded: the API server doesn't answer; it is tried again, as spec.backoff says.
	StateDegraded ClusterState = "DEGRADED"
	// StateOffline: the API server hasn't answered for all retries.
	StateOffline ClusterState = "OFFLINE"
)

// ClusterStates are all states of a Cluster.
var ClusterStates = []ClusterState{
	StatePending, StateCreating, StateReconciling, StateDeleting, StateFailingReconciliation, StateFailed, StateConnecting,
	StateOnline, StateNotReady, StateUnhealthy, StateDegraded, StateOffline,
}

// ReasonCode says in one of Krake's words why something is as it is.
//
// +kubebuilder:validation:MaxLength=64
type ReasonCode string

// Reason codes of Clusters.
const (
	ReasonInvalidResource    ReasonCode = "INVALID_RESOURCE"
	ReasonNoSuitableResource ReasonCode = "NO_SUITABLE_RESOURCE"
	ReasonCreateFailed       ReasonCode = "CREATE_FAILED"
	ReasonReconcileFailed    ReasonCode = "RECONCILE_FAILED"
	ReasonReconfigureFailed  ReasonCode = "RECONFIGURE_FAILED"
	ReasonDeleteFailed       ReasonCode = "DELETE_FAILED"
	ReasonRetrieveFailed     ReasonCode = "RETRIEVE_FAILED"
	ReasonNotFound           ReasonCode = "NOT_FOUND"
)

// Reason codes of metrics.
const (
	ReasonInvalidMetric              ReasonCode = "INVALID_METRIC"
	ReasonUnknownMetric              ReasonCode = "UNKNOWN_METRIC"
	ReasonUnknownMetricsProvider     ReasonCode = "UNKNOWN_METRICS_PROVIDER"
	ReasonUnreachableMetricsProvider ReasonCode = "UNREACHABLE_METRICS_PROVIDER"
)

// Reason of a state.
type Reason struct {
	// code is one of Krake's, such as NO_SUITABLE_RESOURCE.
	// +required
	// +kubebuilder:validation:MinLength=1
	Code ReasonCode `json:"code,omitempty"`

	// message names the object concerned and the remedy.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`
}

// AbandonAnnotation leaves the infrastructure of a deleted Cluster where it is, if it has the value "true": such as one whose provider is
// gone. Events and its ledger, which stays, name it.
const AbandonAnnotation = "krake.bedplate.dev/abandon"
