package v1beta2

// Finalizers that keep an object until everything made for it outside is gone.
const (
	ClusterFinalizer = "ibmpowervscluster.infrastructure.cluster.x-k8s.io"
	MachineFinalizer = "ibmpowervsmachine.infrastructure.cluster.x-k8s.io"
	ImageFinalizer   = "ibmpowervsimage.infrastructure.cluster.x-k8s.io"
)

// CreateInfraAnnotation of an IBMPowerVSCluster, with the value "true", has all resources created that the spec doesn't name: see
// IBMPowerVSCluster.CreatesInfra.
const CreateInfraAnnotation = "powervs.cluster.x-k8s.io/create-infra"

// TakeOverAnnotation of an IBMPowerVSCluster, IBMPowerVSMachine or IBMPowerVSImage, with the value "true", has what another provider's status
// shows taken over: what that has created is deleted with the object, and nothing is created twice. It is taken off once that has happened.
const TakeOverAnnotation = "bedplate.dev/take-over"

// JoinedAnnotation says that the virtual machine of an IBMPowerVSMachine has become a node, so that its bootstrap data isn't needed in a
// bucket any more. It is written by the manager.
const JoinedAnnotation = "bedplate.dev/joined"

// Conditions of IBMPowerVSCluster, IBMPowerVSMachine and IBMPowerVSImage. Each is True when its subject is as the spec wants it;
// otherwise its message names the object concerned and the remedy.
const (
	// ReadyCondition sums up all others; Cluster API mirrors it as InfrastructureReady.
	ReadyCondition = "Ready"
	// ReferencesResolvedCondition: everything that the spec names but does not own exists and can be used: the credentials, the
	// resource group.
	ReferencesResolvedCondition = "ReferencesResolved"
	// ZoneReadyCondition: the PowerVS zone exists and has a Power Edge Router; of a machine, the zone offers its system type.
	ZoneReadyCondition = "ZoneReady"
	// WorkspaceReadyCondition: the PowerVS workspace is active.
	WorkspaceReadyCondition = "WorkspaceReady"
	// NetworkReadyCondition: the DHCP server is active, and its network exists; of a machine, its network is known.
	NetworkReadyCondition = "NetworkReady"
	// VPCReadyCondition: the VPC is available and lets clients reach the API server.
	VPCReadyCondition = "VPCReady"
	// VPCSubnetReadyCondition: all subnets of the VPC are available.
	VPCSubnetReadyCondition = "VPCSubnetReady"
	// VPCSecurityGroupReadyCondition: all security groups have their rules.
	VPCSecurityGroupReadyCondition = "VPCSecurityGroupReady"
	// TransitGatewayReadyCondition: the gateway is available, and both of its connections are attached.
	TransitGatewayReadyCondition = "TransitGatewayReady"
	// LoadBalancerReadyCondition: all load balancers are active; of a machine, it is a member of all pools that lead to it.
	LoadBalancerReadyCondition = "LoadBalancerReady"
	// COSInstanceReadyCondition: the instance of Cloud Object Storage, its bucket and the key to it exist.
	COSInstanceReadyCondition = "COSInstanceReady"

	// ClusterReadyCondition: the cluster is provisioned, and the workspace of the machine or the image is known.
	ClusterReadyCondition = "ClusterReady"
	// BootstrapDataReadyCondition: the bootstrap provider has written the machine's data, and with Ignition it is in the bucket.
	BootstrapDataReadyCondition = "BootstrapDataReady"
	// InstanceReadyCondition: the virtual machine exists and runs.
	InstanceReadyCondition = "InstanceReady"
	// AddressReadyCondition: the address of the virtual machine is known.
	AddressReadyCondition = "AddressReady"

	// ImageImportedCondition: the import of the image has ended well.
	ImageImportedCondition = "ImageImported"
	// ImageReadyCondition: the image is active.
	ImageReadyCondition = "ImageReady"
)
