package v1alpha1

// The only DPFOperatorConfig that is admitted.
const (
	Namespace = "dpf-operator-system"
	Name      = "dpfoperatorconfig"
)

// Finalizer keeps a DPFOperatorConfig until the network is back where it was, and all that was deployed is gone.
const Finalizer = "dpu.nvidia.com/dpfoperatorconfig"

// AbandonAnnotation with the value "true" deletes a DPFOperatorConfig without taking back what can't be taken back: such as the network
// of a cluster whose API refuses it. Events name what is left, and the journal stays.
const AbandonAnnotation = "dpu.nvidia.com/abandon"

// Conditions of a DPFOperatorConfig. Each is True when its subject is as the spec wants it; otherwise its message names the object
// concerned and the remedy.
const (
	// ReadyCondition sums up all others.
	ReadyCondition = "Ready"
	// PrerequisitesMetCondition: all that has to be there before anything is changed is there.
	PrerequisitesMetCondition = "PrerequisitesMet"
	// ImagePullSecretsReconciledCondition: every DPU cluster has the pull secrets, and no others of ours.
	ImagePullSecretsReconciledCondition = "ImagePullSecretsReconciled"
	// SystemComponentsReconciledCondition: the components are deployed as they should be.
	SystemComponentsReconciledCondition = "SystemComponentsReconciled"
	// SystemComponentsReadyCondition: the components are ready.
	SystemComponentsReadyCondition = "SystemComponentsReady"
	// DPUClustersReachableCondition: the API server of every DPU cluster answers.
	DPUClustersReachableCondition = "DPUClustersReachable"
	// HostNetworkConfiguredCondition: the network of every worker with a DPU is on it.
	HostNetworkConfiguredCondition = "HostNetworkConfigured"
	// RestoredCondition of one that is deleted: what the cluster had before is restored. Its message says what others have changed since.
	RestoredCondition = "Restored"
)

// Reasons of conditions.
const (
	// ReasonSuccess of a condition that is True.
	ReasonSuccess = "Success"
	// ReasonPending: it is being worked on.
	ReasonPending = "Pending"
	// ReasonError: a call has failed, and is tried again.
	ReasonError = "Error"
	// ReasonFailure: a person has to correct something.
	ReasonFailure = "Failure"
	// ReasonAwaitingDeletion: objects that are being deleted aren't gone yet.
	ReasonAwaitingDeletion = "AwaitingDeletion"
)

// Component is what has an image of its own.
type Component string

// Components on the host cluster.
const (
	// ComponentDPUService reconciles DPUServices.
	ComponentDPUService Component = "dpuservice"
	// ComponentServiceFunctionChain reconciles DPUServiceChains, DPUServiceInterfaces and DPUServiceIPAMs.
	ComponentServiceFunctionChain Component = "servicefunctionchain"
	// ComponentProvisioning is NVIDIA's, which provisions DPUs.
	ComponentProvisioning Component = "provisioning"
	// ComponentHostNetworkProvisioner sets up the host's side of a worker's network.
	ComponentHostNetworkProvisioner Component = "hostnetworkprovisioner"
	// ComponentOVNKubernetes is ovn-kubernetes on the workers whose network is on their DPU; without an override it is the cluster's own.
	ComponentOVNKubernetes Component = "ovnkubernetes"
)

// Components on DPU clusters.
const (
	ComponentServiceChainSet     Component = "servicechainset"
	ComponentServiceChain        Component = "servicechain"
	ComponentServiceIPAMSet      Component = "serviceipamset"
	ComponentServiceIPAM         Component = "serviceipam"
	ComponentServiceInterfaceSet Component = "serviceinterfaceset"
	ComponentServiceInterface    Component = "serviceinterface"
	// ComponentDPUCNIProvisioner sets up the DPU's side of a worker's network.
	ComponentDPUCNIProvisioner Component = "dpucniprovisioner"
)

// Components are all keys of imageOverrides.
var Components = []Component{
	ComponentDPUService, ComponentServiceFunctionChain, ComponentProvisioning, ComponentHostNetworkProvisioner, ComponentOVNKubernetes,
	ComponentServiceChainSet, ComponentServiceChain, ComponentServiceIPAMSet, ComponentServiceIPAM, ComponentServiceInterfaceSet,
	ComponentServiceInterface, ComponentDPUCNIProvisioner,
}

// Names by which nodes are known and marked.
const (
	// DPUEnabledLabel, with the value "true", is NFD's on nodes of the host cluster that have a DPU.
	DPUEnabledLabel = "feature.node.kubernetes.io/dpu-enabled"
	// NetworkMovedLabel is on nodes that the cluster's own ovn-kubernetes has to leave.
	NetworkMovedLabel = "dpf.nvidia.com/network-moved"
	// NetworkPreconfigReadyLabel is on nodes whose provisioners are ready: the other ovn-kubernetes may run there.
	NetworkPreconfigReadyLabel = "dpf.nvidia.com/network-preconfig-ready"
	// NetworkCleanUpLabel is on nodes on their way back, as long as the host network provisioner's address and route are taken away.
	NetworkCleanUpLabel = "dpf.nvidia.com/network-clean-up"
	// NetworkNotReadyTaint, with the effect NoSchedule, keeps workloads away from a node that has no network.
	NetworkNotReadyTaint = "dpf.nvidia.com/network-not-ready"
	// ChassisIDAnnotation is how OVN knows a node.
	ChassisIDAnnotation = "k8s.ovn.org/node-chassis-id"
)

// NodePhase is how far the network of a node is.
//
// +kubebuilder:validation:Enum=Pending;Isolated;Provisioning;Switching;Ready;Failed;RollingBack;Restored
type NodePhase string

// Phases of a node, in the order of the move; the last three are those of the way back.
const (
	// NodePending: nothing of the node was changed.
	NodePending NodePhase = "Pending"
	// NodeIsolated: no new workloads are scheduled, and the cluster's own ovn-kubernetes leaves the node.
	NodeIsolated NodePhase = "Isolated"
	// NodeProvisioning: the provisioners on both sides of the DPU work.
	NodeProvisioning NodePhase = "Provisioning"
	// NodeSwitching: the other ovn-kubernetes starts.
	NodeSwitching NodePhase = "Switching"
	// NodeReady: the network is on the DPU.
	NodeReady NodePhase = "Ready"
	// NodeRollingBack: the node gets back the network that it had.
	NodeRollingBack NodePhase = "RollingBack"
	// NodeRestored: the node has the network back that it had.
	NodeRestored NodePhase = "Restored"
	// NodeFailed: a phase took longer than nodeTimeout, and the node was rolled back. No other node is begun before the spec changes.
	NodeFailed NodePhase = "Failed"
)

// NodePhases are all of them.
var NodePhases = []NodePhase{
	NodePending, NodeIsolated, NodeProvisioning, NodeSwitching, NodeReady, NodeRollingBack, NodeRestored, NodeFailed,
}
