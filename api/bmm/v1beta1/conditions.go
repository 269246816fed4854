package v1beta1

// Finalizers that keep an object until everything made for it outside is gone.
const (
	ClusterFinalizer = "nvidiabmmcluster.infrastructure.cluster.x-k8s.io"
	MachineFinalizer = "nvidiabmmmachine.infrastructure.cluster.x-k8s.io"
)

// Conditions of NvidiaBMMCluster and NvidiaBMMMachine. Each is True when its subject is as the spec wants it; otherwise
// its message names the object concerned and the remedy.
const (
	// ReadyCondition sums up all others; Cluster API mirrors it as InfrastructureReady.
	ReadyCondition = "Ready"
	// ReferencesResolvedCondition: everything the spec names but does not own exists and can be used: the credentials
	// Secret, the site, the IP block.
	ReferencesResolvedCondition = "ReferencesResolved"
	// VPCReadyCondition: the VPC exists and is accessible.
	VPCReadyCondition = "VPCReady"
	// SubnetsReadyCondition: all subnets are cut from the IP block and ready.
	SubnetsReadyCondition = "SubnetsReady"
	// ControlPlaneEndpointReadyCondition: an endpoint is set where the control plane provider needs one.
	ControlPlaneEndpointReadyCondition = "ControlPlaneEndpointReady"

	// ClusterReadyCondition: the NvidiaBMMCluster has the networks that this machine is put into.
	ClusterReadyCondition = "ClusterReady"
	// BootstrapDataReadyCondition: the bootstrap provider has written the machine's user data.
	BootstrapDataReadyCondition = "BootstrapDataReady"
	// InstanceProvisionedCondition: the instance exists and runs.
	InstanceProvisionedCondition = "InstanceProvisioned"
	// NetworkConfiguredCondition: every network interface has its address.
	NetworkConfiguredCondition = "NetworkConfigured"
)
