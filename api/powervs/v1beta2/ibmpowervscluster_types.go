package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IBMPowerVSClusterSpec says what a cluster gets at IBM Cloud, and where.
// What a field names is used if it exists, and never deleted then. With the
// annotation powervs.cluster.x-k8s.io/create-infra: "true" all that is
// omitted, or named and doesn't exist, is created, and deleted with the
// cluster. Without it nothing is created: workspace and network have to
// exist, and controlPlaneEndpoint is an address that you provide.
//
// +kubebuilder:validation:XValidation:rule="!has(self.serviceInstanceID) || self.serviceInstanceID == \"\" || !has(self.serviceInstance) || !has(self.serviceInstance.name) && (!has(self.serviceInstance.id) || self.serviceInstance.id == self.serviceInstanceID)",fieldPath=".serviceInstanceID",message="serviceInstanceID, which is deprecated, and serviceInstance name different workspaces: remove serviceInstanceID"
type IBMPowerVSClusterSpec struct {
	// authentication says how to log in to IBM Cloud. When it is omitted the
	// manager's default credentials are used (--default-credentials).
	// +optional
	Authentication *Authentication `json:"authentication,omitempty"`

	// serviceInstanceID is the ID of the PowerVS workspace.
	//
	// Deprecated: use serviceInstance.id, from which it must not differ. Empty
	// counts as omitted.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ServiceInstanceID string `json:"serviceInstanceID,omitempty"`

	// serviceInstance is the PowerVS workspace, which contains all virtual
	// machines. With id it must exist. With name it is used if it exists in the
	// zone, and created otherwise. When it is omitted one is created as
	// <cluster>-serviceInstance. regex is ignored, with a warning. It can't be
	// changed once the workspace was found or made.
	// +optional
	ServiceInstance *IBMPowerVSResourceReference `json:"serviceInstance,omitempty"`

	// zone is the PowerVS zone, such as dal10, of all machines and of their
	// network. Required with the annotation
	// powervs.cluster.x-k8s.io/create-infra: "true"; it must have a Power Edge
	// Router then, as condition ZoneReady says. It can't be changed once the
	// workspace was found or made.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]*$`
	Zone string `json:"zone,omitempty"`

	// resourceGroup is where resources are created. Its name is required with
	// the annotation powervs.cluster.x-k8s.io/create-infra: "true". id and regex
	// are ignored, with a warning. It can't be changed once it was found.
	// +optional
	ResourceGroup *IBMPowerVSResourceReference `json:"resourceGroup,omitempty"`

	// network is the network in the workspace that machines are attached to.
	// With id it must exist. With name it is used if it exists, and otherwise
	// created by a DHCP server. When it is omitted a DHCP server is created, and
	// its network used: DHCPSERVER<dhcpServer.name, or else cluster>_Private.
	// regex is ignored, with a warning. It can't be changed once the network was
	// found or made.
	// +optional
	Network *IBMPowerVSResourceReference `json:"network,omitempty"`

	// dhcpServer is the DHCP server of the network, and how it is created. When
	// it is omitted it is created with the cluster's name. It can't be changed
	// once the DHCP server was found or made.
	// +optional
	DHCPServer *DHCPServer `json:"dhcpServer,omitempty"`

	// vpc is the VPC in which the load balancers are. With id it must exist.
	// With name it is used if it exists in the region, and created otherwise.
	// With neither it is created as <cluster>-vpc. Its region is required with
	// the annotation powervs.cluster.x-k8s.io/create-infra: "true". It can't be
	// changed once the VPC was found or made.
	// +optional
	VPC *VPCResourceReference `json:"vpc,omitempty"`

	// vpcSubnets are the subnets of the VPC. When they are omitted one is
	// created in every zone of the region, as <cluster>-vpcsubnet-<zone>.
	// Entries can be added and removed. An entry without a name has to keep its
	// place, since its place names it; range and zone of a subnet can't be
	// changed once it was found or made.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.name) || self.exists_one(b, has(b.name) && b.name == a.name))",message="names of vpcSubnets must be unique: give one of them another name"
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.id) || self.exists_one(b, has(b.id) && b.id == a.id))",message="vpcSubnets names a subnet twice by its id: remove one of them"
	VPCSubnets []Subnet `json:"vpcSubnets,omitempty"`

	// vpcSecurityGroups are security groups of the VPC. With id one must exist.
	// With name it is used if it exists in the VPC, and otherwise created with
	// its rules.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=25
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.name) || self.exists_one(b, has(b.name) && b.name == a.name))",message="names of vpcSecurityGroups must be unique: give one of them another name"
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.id) || self.exists_one(b, has(b.id) && b.id == a.id))",message="vpcSecurityGroups names a security group twice by its id: remove one of them"
	VPCSecurityGroups []VPCSecurityGroup `json:"vpcSecurityGroups,omitempty"`

	// transitGateway connects the workspace with the VPC. With id it must exist.
	// With name it is used if it exists, and created otherwise. When it is
	// omitted it is created as <cluster>-transitgateway. It can't be changed
	// once the gateway was found or made.
	// +optional
	TransitGateway *TransitGateway `json:"transitGateway,omitempty"`

	// loadBalancers lead to the API server and to further ports of machines.
	// With id one must exist. With name it is used if it exists, and created
	// otherwise. When they are omitted a public one is created as
	// <cluster>-loadbalancer. Exactly one is public: its hostname becomes
	// controlPlaneEndpoint.host. Entries can be added and removed. An entry
	// without a name has to keep its place, since its place names it; a load
	// balancer can't be changed once it was found or made.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=25
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.name) || self.exists_one(b, has(b.name) && b.name == a.name))",message="names of loadBalancers must be unique: give one of them another name"
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.id) || self.exists_one(b, has(b.id) && b.id == a.id))",message="loadBalancers names a load balancer twice by its id: remove one of them"
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.exists_one(l, !has(l.public) || l.public)",message="exactly one load balancer must be public, as each is whose public is omitted: set public to false for all others"
	LoadBalancers []VPCLoadBalancerSpec `json:"loadBalancers,omitempty"`

	// cosInstance is the Cloud Object Storage that bootstrap data for Ignition
	// is handed over in. All its fields are required with ignition and the
	// annotation powervs.cluster.x-k8s.io/create-infra: "true". It can't be
	// changed once it was found or made.
	// +optional
	CosInstance *CosInstance `json:"cosInstance,omitempty"`

	// ignition says that machines boot with Ignition. The manager takes it with
	// --feature-gates=BootstrapFormatIgnition=true only. When it is omitted
	// machines boot with cloud-init.
	// +optional
	Ignition *Ignition `json:"ignition,omitempty"`

	// controlPlaneEndpoint is where the cluster's API server is reached. With
	// the annotation powervs.cluster.x-k8s.io/create-infra: "true" it is set to
	// the hostname of the public load balancer; without it, it is an address
	// that you provide, such as a virtual IP kept by kube-vip. Once set it can't
	// be changed.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitzero"`
}

// IBMPowerVSClusterStatus is what is known of what a cluster has at IBM
// Cloud.
type IBMPowerVSClusterStatus struct {
	// conditions of this object: Ready sums them up.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization tells Cluster API how far the first provisioning has come.
	// +optional
	Initialization IBMPowerVSInitializationStatus `json:"initialization,omitzero"`

	// ready says whether everything is as the spec wants it. Cluster API reads
	// initialization.provisioned instead.
	// +optional
	// +kubebuilder:default=false
	Ready bool `json:"ready,omitempty"`

	// resourceGroupID is the resource group.
	// +optional
	ResourceGroup *ResourceReference `json:"resourceGroupID,omitempty"`

	// serviceInstance is the PowerVS workspace.
	// +optional
	ServiceInstance *ResourceReference `json:"serviceInstance,omitempty"`

	// network is the network in the workspace.
	// +optional
	Network *ResourceReference `json:"network,omitempty"`

	// dhcpServer is the DHCP server of the network.
	// +optional
	DHCPServer *ResourceReference `json:"dhcpServer,omitempty"`

	// vpc is the VPC.
	// +optional
	VPC *ResourceReference `json:"vpc,omitempty"`

	// vpcSubnet holds the subnets of the VPC by their names.
	// +optional
	VPCSubnet map[string]ResourceReference `json:"vpcSubnet,omitempty"`

	// vpcSecurityGroups holds the security groups by their names.
	// +optional
	VPCSecurityGroups map[string]VPCSecurityGroupStatus `json:"vpcSecurityGroups,omitempty"`

	// transitGateway is the transit gateway with its connections.
	// +optional
	TransitGateway *TransitGatewayStatus `json:"transitGateway,omitempty"`

	// cosInstance is the instance of Cloud Object Storage.
	// +optional
	COSInstance *ResourceReference `json:"cosInstance,omitempty"`

	// loadBalancers holds the load balancers by their names.
	// +optional
	LoadBalancers map[string]VPCLoadBalancerStatus `json:"loadBalancers,omitempty"`
}

// IBMPowerVSInitializationStatus is part of Cluster API's contract.
// +kubebuilder:validation:MinProperties=1
type IBMPowerVSInitializationStatus struct {
	// provisioned is true once everything was ready for the first time; it never
	// becomes false again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// TransitGatewayStatus is a transit gateway that exists.
type TransitGatewayStatus struct {
	// id of the gateway.
	// +optional
	ID string `json:"id,omitempty"`

	// controllerCreated says whether the gateway was created for this cluster,
	// and is deleted with it.
	// +optional
	// +kubebuilder:default=false
	ControllerCreated bool `json:"controllerCreated,omitempty"`

	// vpcConnection is the gateway's connection with the VPC.
	// +optional
	VPCConnection *ResourceReference `json:"vpcConnection,omitempty"`

	// powerVSConnection is the gateway's connection with the workspace.
	// +optional
	PowerVSConnection *ResourceReference `json:"powerVSConnection,omitempty"`
}

// IBMPowerVSCluster makes what a Cluster API cluster needs at IBM Cloud: a
// PowerVS workspace with a network, and a VPC with load balancers that is
// connected with it. Refer to it as infrastructureRef of a Cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.serviceInstance) || !has(oldSelf.status.serviceInstance.id) || (has(self.spec.serviceInstance) && has(self.spec.serviceInstance.id) ? self.spec.serviceInstance.id : has(self.spec.serviceInstanceID) ? self.spec.serviceInstanceID : \"\") == (has(oldSelf.spec.serviceInstance) && has(oldSelf.spec.serviceInstance.id) ? oldSelf.spec.serviceInstance.id : has(oldSelf.spec.serviceInstanceID) ? oldSelf.spec.serviceInstanceID : \"\") && (has(self.spec.serviceInstance) && has(self.spec.serviceInstance.name) ? self.spec.serviceInstance.name : \"\") == (has(oldSelf.spec.serviceInstance) && has(oldSelf.spec.serviceInstance.name) ? oldSelf.spec.serviceInstance.name : \"\") || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'WorkspaceReady' && c.reason in ['ClaimChanged', 'Conflict', 'Invalid', 'Missing'])",fieldPath=".spec.serviceInstance",message="serviceInstance is immutable once the workspace was found or made"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.serviceInstance) || !has(oldSelf.status.serviceInstance.id) || has(self.spec.zone) == has(oldSelf.spec.zone) && (!has(self.spec.zone) || self.spec.zone == oldSelf.spec.zone) || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, (c.type == 'WorkspaceReady' || c.type == 'ZoneReady') && c.reason in ['ClaimChanged', 'Conflict', 'Invalid', 'Missing'])",fieldPath=".spec.zone",message="zone is immutable once the workspace was found or made"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.resourceGroupID) || !has(oldSelf.status.resourceGroupID.id) || has(self.spec.resourceGroup) == has(oldSelf.spec.resourceGroup) && (!has(self.spec.resourceGroup) || self.spec.resourceGroup == oldSelf.spec.resourceGroup) || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'ReferencesResolved' && c.reason in ['ClaimChanged', 'Conflict', 'Invalid', 'Missing'])",fieldPath=".spec.resourceGroup",message="resourceGroup is immutable once it was found"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.network) || !has(oldSelf.status.network.id) || has(self.spec.network) == has(oldSelf.spec.network) && (!has(self.spec.network) || self.spec.network == oldSelf.spec.network) || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'NetworkReady' && c.reason in ['ClaimChanged', 'Conflict', 'Invalid', 'Missing'])",fieldPath=".spec.network",message="network is immutable once it was found or made"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.dhcpServer) || !has(oldSelf.status.dhcpServer.id) || has(self.spec.dhcpServer) == has(oldSelf.spec.dhcpServer) && (!has(self.spec.dhcpServer) || self.spec.dhcpServer == oldSelf.spec.dhcpServer) || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'NetworkReady' && c.reason in ['ClaimChanged', 'Conflict', 'Invalid', 'Missing'])",fieldPath=".spec.dhcpServer",message="dhcpServer is immutable once it was found or made"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.vpc) || !has(oldSelf.status.vpc.id) || has(self.spec.vpc) == has(oldSelf.spec.vpc) && (!has(self.spec.vpc) || self.spec.vpc == oldSelf.spec.vpc) || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'VPCReady' && c.reason in ['ClaimChanged', 'Conflict', 'Invalid', 'Missing'])",fieldPath=".spec.vpc",message="vpc is immutable once it was found or made"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.transitGateway) || !has(oldSelf.status.transitGateway.id) || has(self.spec.transitGateway) == has(oldSelf.spec.transitGateway) && (!has(self.spec.transitGateway) || self.spec.transitGateway == oldSelf.spec.transitGateway) || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'TransitGatewayReady' && c.reason in ['ClaimChanged', 'Conflict', 'Invalid', 'Missing'])",fieldPath=".spec.transitGateway",message="transitGateway is immutable once it was found or made"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.cosInstance) || !has(oldSelf.status.cosInstance.id) || has(self.spec.cosInstance) == has(oldSelf.spec.cosInstance) && (!has(self.spec.cosInstance) || self.spec.cosInstance == oldSelf.spec.cosInstance) || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'COSInstanceReady' && c.reason in ['ClaimChanged', 'Conflict', 'Invalid', 'Missing'])",fieldPath=".spec.cosInstance",message="cosInstance is immutable once it was found or made"
// +kubebuilder:resource:path=ibmpowervsclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta2","cluster.x-k8s.io/provider=infrastructure-powervs","clusterctl.cluster.x-k8s.io="}
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that this object belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Everything is as the spec wants it"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why it is not ready"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="Address of the API server"
// +kubebuilder:printcolumn:name="Port",type="string",JSONPath=".spec.controlPlaneEndpoint.port",description="Port of the API server",priority=1
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".spec.zone",description="PowerVS zone",priority=1
// +kubebuilder:printcolumn:name="Workspace",type="string",JSONPath=".status.serviceInstance.id",description="ID of the PowerVS workspace",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type IBMPowerVSCluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what the cluster gets, and where.
	// +optional
	// +kubebuilder:default={}
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.controlPlaneEndpoint) || !has(oldSelf.controlPlaneEndpoint.host) || oldSelf.controlPlaneEndpoint.host == '' || has(self.controlPlaneEndpoint) && self.controlPlaneEndpoint == oldSelf.controlPlaneEndpoint",fieldPath=".controlPlaneEndpoint",message="controlPlaneEndpoint is immutable once it is set"
	Spec IBMPowerVSClusterSpec `json:"spec,omitzero"`

	// status is what is known of it.
	// +optional
	Status IBMPowerVSClusterStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the object.
func (c *IBMPowerVSCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (c *IBMPowerVSCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// IBMPowerVSClusterList is a list of IBMPowerVSClusters.
//
// +kubebuilder:object:root=true
type IBMPowerVSClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IBMPowerVSCluster `json:"items"`
}
