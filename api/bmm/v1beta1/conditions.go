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
	// IPBlockReadyCondition: the IP block that the spec has made is allocated to the tenant.
	IPBlockReadyCondition = "IPBlockReady"
	// NSGReadyCondition: the network security group has the spec's rules.
	NSGReadyCondition = "NSGReady"
	// VPCReadyCondition: the VPC exists and is accessible.
	VPCReadyCondition = "VPCReady"
	// SubnetsReadyCondition: all subnets or VPC prefixes are cut from the IP block and ready.
	SubnetsReadyCondition = "SubnetsReady"
	// VPCPeeringsReadyCondition: the VPC is connected with all its peers.
	VPCPeeringsReadyCondition = "VPCPeeringsReady"
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

// HealthIssueAnnotation of an NvidiaBMMMachine says what is wrong with its
// physical machine: Hardware, Network, Performance or Other. The site's operator
// hears of it when the NvidiaBMMMachine is deleted, and keeps the machine out of
// the pool until it is repaired.
const HealthIssueAnnotation = "bedplate.dev/machine-health-issue"
