package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
)

// NvidiaBMMClusterSpec says which networks a cluster gets, and where.
//
// +kubebuilder:validation:XValidation:rule="self.vpc.networkVirtualizationType != 'ETHERNET_VIRTUALIZER' || !has(self.vpcPrefixes)",fieldPath=".vpcPrefixes",message="vpcPrefixes go with vpc.networkVirtualizationType FNN only: write subnets instead"
// +kubebuilder:validation:XValidation:rule="self.vpc.networkVirtualizationType != 'ETHERNET_VIRTUALIZER' || has(self.subnets)",fieldPath=".subnets",message="with vpc.networkVirtualizationType ETHERNET_VIRTUALIZER at least one subnet is needed"
// +kubebuilder:validation:XValidation:rule="self.vpc.networkVirtualizationType != 'FNN' || !has(self.subnets)",fieldPath=".subnets",message="subnets go with vpc.networkVirtualizationType ETHERNET_VIRTUALIZER only: write vpcPrefixes instead"
// +kubebuilder:validation:XValidation:rule="self.vpc.networkVirtualizationType != 'FNN' || has(self.vpcPrefixes)",fieldPath=".vpcPrefixes",message="with vpc.networkVirtualizationType FNN at least one VPC prefix is needed"
// +kubebuilder:validation:XValidation:rule="!has(self.vpcPeerings) || !has(self.vpc.id) || self.vpcPeerings.all(p, p.peerVpcId != self.vpc.id)",fieldPath=".vpcPeerings",message="a VPC can't be a peer of itself: remove the peering with vpc.id"
// +kubebuilder:validation:XValidation:rule="!has(self.failureDomains) || self.failureDomains.all(d, !has(d.subnetName) || (has(self.subnets) && self.subnets.exists(s, s.name == d.subnetName)))",fieldPath=".failureDomains",message="subnetName of each failure domain must be the name of one of the subnets"
// +kubebuilder:validation:XValidation:rule="!has(self.failureDomains) || self.failureDomains.all(d, !has(d.vpcPrefixName) || (has(self.vpcPrefixes) && self.vpcPrefixes.exists(p, p.name == d.vpcPrefixName)))",fieldPath=".failureDomains",message="vpcPrefixName of each failure domain must be the name of one of the vpcPrefixes"
type NvidiaBMMClusterSpec struct {
	// siteRef names the BMM site (a data centre) that everything of this cluster
	// is made in. It can't be changed once it was found.
	// +required
	SiteRef SiteReference `json:"siteRef,omitzero"`

	// tenantID is the UUID of the tenant that owns the VPC, the subnets and the
	// instances. The credentials must be the tenant's. It can't be changed once
	// the VPC exists.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	TenantID string `json:"tenantID,omitempty"`

	// authentication says how to log in to the BMM API.
	// +required
	Authentication Authentication `json:"authentication,omitzero"`

	// vpc is the virtual network of the cluster. It is created for the cluster and
	// deleted with it, unless it is your own.
	// +optional
	// +kubebuilder:default={}
	VPC VPCSpec `json:"vpc,omitzero"`

	// ipBlock is the tenant's IP block that subnets and VPC prefixes are cut from.
	// Without it the tenant's only IPv4 block at the site is used; where there are
	// several, one must be named. It can't be changed once it was found or made.
	// +optional
	IPBlock *IPBlockReference `json:"ipBlock,omitempty"`

	// subnets are the networks inside an Ethernet VPC that machines are attached
	// to, each with a name that machines refer to. Subnets can be added and
	// removed; their size can't be changed. One in use by a machine stays until
	// the machine is gone.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Subnets []SubnetSpec `json:"subnets,omitempty"`

	// vpcPrefixes are the ranges inside an FNN VPC that machines get their
	// addresses from, each with a name that machines refer to. They can be added
	// and removed; their size can't be changed. One in use by a machine stays
	// until the machine is gone.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	VPCPrefixes []VPCPrefixSpec `json:"vpcPrefixes,omitempty"`

	// vpcPeerings connect the VPC with others at the site. They can be added and
	// removed.
	// +optional
	// +listType=map
	// +listMapKey=peerVpcId
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	VPCPeerings []VPCPeeringSpec `json:"vpcPeerings,omitempty"`

	// failureDomains are the parts of the site that can fail on their own. A
	// Machine with one of these names as its failureDomain is put there, whatever
	// network its own spec names.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	FailureDomains []FailureDomainSpec `json:"failureDomains,omitempty"`

	// controlPlaneEndpoint is where the cluster's API server is reached: an
	// address that you provide, such as a virtual IP kept by kube-vip or a load
	// balancer in front of the control plane. KubeadmControlPlane waits until it
	// is set. Once set it can't be changed.
	// +optional
	ControlPlaneEndpoint *APIEndpoint `json:"controlPlaneEndpoint,omitempty"`

	// publishInstances publishes to the cluster its own instances, and nothing else:
	// as ConfigMaps in its namespace bmm-instances, written with the kubeconfig that
	// Cluster API has for it. The cloud controller manager in the cluster reads
	// them, and needs no credentials for the BMM API. What was published stays when this
	// is turned off.
	// +optional
	PublishInstances *bool `json:"publishInstances,omitempty"`
}

// SiteReference names a site by name or by ID.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.id)",message="exactly one of name and id must be set"
type SiteReference struct {
	// name is that of a Site object (sites.forge.nvidia.io) in the namespace of
	// this object, if there is one, or else the site's name as the BMM API lists
	// it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// id is the site's UUID.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	ID string `json:"id,omitempty"`
}

// Authentication says how to log in to the BMM API.
type Authentication struct {
	// secretRef names a Secret in the namespace of this object with the keys
	// endpoint (the API's URL) and orgName (the organisation), and one way to log
	// in: token (a bearer token), or tokenURL, clientID, clientSecret and
	// optionally scopes (OAuth2 client credentials). Further keys are optional:
	// apiName (the path segment behind the organisation, carbide or nico; it is
	// found out otherwise) and ca.crt (certificates to trust beside the system's).
	// A changed Secret is used at once, without a restart.
	// +required
	SecretRef SecretReference `json:"secretRef,omitzero"`
}

// SecretReference names a Secret in the namespace of the object that refers to
// it.
type SecretReference struct {
	// namespace may be left out. It must be that of the object: Secrets of other
	// namespaces are not used.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// APIEndpoint is where a cluster's API server is reached.
type APIEndpoint struct {
	// host is an IP address or a DNS name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`

	// port of the API server.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// NvidiaBMMClusterStatus is what is known of a cluster's networks.
// +kubebuilder:validation:MinProperties=1
type NvidiaBMMClusterStatus struct {
	// conditions of this object: Ready sums them up.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization tells Cluster API how far the first provisioning has come.
	// +optional
	Initialization NvidiaBMMClusterInitializationStatus `json:"initialization,omitzero"`

	// siteID is the UUID of the site that siteRef names.
	// +optional
	SiteID string `json:"siteID,omitempty"`

	// vpcID is the UUID of the VPC.
	// +optional
	VPCID string `json:"vpcID,omitempty"`

	// networkSecurityGroupID is the ID of the network security group.
	// +optional
	NetworkSecurityGroupID string `json:"networkSecurityGroupID,omitempty"`

	// ipBlockID is the UUID of the tenant's IP block that subnets and VPC prefixes
	// are cut from.
	// +optional
	IPBlockID string `json:"ipBlockID,omitempty"`

	// parentIPBlockID is the UUID of the provider's IP block that was made for
	// ipBlock.create; ipBlockID is the part of it that was allocated to the
	// tenant.
	// +optional
	ParentIPBlockID string `json:"parentIPBlockID,omitempty"`

	// allocationID is the UUID of the allocation of that block to the tenant.
	// +optional
	AllocationID string `json:"allocationID,omitempty"`

	// subnets are the subnets that exist, by their names in the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	Subnets []SubnetStatus `json:"subnets,omitempty"`

	// vpcPrefixes are the VPC prefixes that exist, by their names in the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	VPCPrefixes []VPCPrefixStatus `json:"vpcPrefixes,omitempty"`

	// vpcPeerings are the peerings that exist.
	// +optional
	// +listType=map
	// +listMapKey=peerVpcId
	VPCPeerings []VPCPeeringStatus `json:"vpcPeerings,omitempty"`

	// failureDomains are what Cluster API may choose from for its Machines.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`
}

// NvidiaBMMClusterInitializationStatus is part of Cluster API's contract.
// +kubebuilder:validation:MinProperties=1
type NvidiaBMMClusterInitializationStatus struct {
	// provisioned is true once all networks were ready for the first time; it
	// never becomes false again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// SubnetStatus is a subnet that exists.
type SubnetStatus struct {
	// name of the subnet in the spec.
	// +required
	Name string `json:"name,omitempty"`

	// id is the subnet's UUID.
	// +required
	ID string `json:"id,omitempty"`

	// cidr is the range that was cut out of the IP block.
	// +optional
	CIDR string `json:"cidr,omitempty"`
}

// VPCPrefixStatus is a VPC prefix that exists.
type VPCPrefixStatus struct {
	// name of the VPC prefix in the spec.
	// +required
	Name string `json:"name,omitempty"`

	// id is the VPC prefix's UUID.
	// +required
	ID string `json:"id,omitempty"`

	// cidr is the range that was cut out of the IP block.
	// +optional
	CIDR string `json:"cidr,omitempty"`
}

// VPCPeeringStatus is a peering that exists.
type VPCPeeringStatus struct {
	// peerVpcId is the UUID of the other VPC.
	// +required
	PeerVPCID string `json:"peerVpcId,omitempty"`

	// id is the peering's UUID.
	// +required
	ID string `json:"id,omitempty"`
}

// NvidiaBMMCluster makes the networks of a Cluster API cluster at an NVIDIA
// bare-metal site: a VPC, and subnets or VPC prefixes cut from an IP block of
// the tenant.
// Refer to it as infrastructureRef of a Cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() > 1 || has(self.spec.vpc.id) || has(self.spec.vpc.name)",optionalOldSelf=true,fieldPath=".metadata",message="the VPC gets the name of this object, and the BMM API requires at least two characters: choose a longer one, or set spec.vpc.name"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() > 1 || !has(self.spec.vpc.networkSecurityGroup) || has(self.spec.vpc.networkSecurityGroup.id) || has(self.spec.vpc.networkSecurityGroup.name)",optionalOldSelf=true,fieldPath=".metadata",message="the network security group gets the name of this object, and the BMM API requires at least two characters: choose a longer one, or set spec.vpc.networkSecurityGroup.name"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.siteID) || self.spec.siteRef == oldSelf.spec.siteRef || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.reason == 'ClaimChanged' || c.type == 'ReferencesResolved' && c.reason == 'Missing' || c.type == 'VPCReady' && c.reason == 'Invalid')",fieldPath=".spec.siteRef",message="siteRef is immutable once the site was found"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.vpcID) || self.spec.tenantID == oldSelf.spec.tenantID || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'ReferencesResolved' && c.reason == 'Invalid')",fieldPath=".spec.tenantID",message="tenantID is immutable once the VPC exists"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.vpcID) || (has(self.spec.vpc.id) == has(oldSelf.spec.vpc.id) && (!has(self.spec.vpc.id) || self.spec.vpc.id == oldSelf.spec.vpc.id)) || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'VPCReady' && c.reason in ['ClaimChanged', 'Missing'])",fieldPath=".spec.vpc.id",message="id is immutable once the VPC exists"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.vpcID) || self.spec.vpc.networkVirtualizationType == oldSelf.spec.vpc.networkVirtualizationType || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'VPCReady' && c.reason == 'Invalid')",fieldPath=".spec.vpc.networkVirtualizationType",message="networkVirtualizationType is immutable once the VPC exists"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.vpcID) || (has(self.spec.vpc.vni) == has(oldSelf.spec.vpc.vni) && (!has(self.spec.vpc.vni) || self.spec.vpc.vni == oldSelf.spec.vpc.vni)) || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'VPCReady' && c.reason == 'Invalid')",fieldPath=".spec.vpc.vni",message="vni is immutable once the VPC exists"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.vpcID) || (has(self.spec.vpc.routingProfile) == has(oldSelf.spec.vpc.routingProfile) && (!has(self.spec.vpc.routingProfile) || self.spec.vpc.routingProfile == oldSelf.spec.vpc.routingProfile)) || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'VPCReady' && c.reason == 'Invalid')",fieldPath=".spec.vpc.routingProfile",message="routingProfile is immutable once the VPC exists"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !(has(oldSelf.status.ipBlockID) || has(oldSelf.status.parentIPBlockID)) || (has(self.spec.ipBlock) == has(oldSelf.spec.ipBlock) && (!has(self.spec.ipBlock) || self.spec.ipBlock == oldSelf.spec.ipBlock)) || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'IPBlockReady' && c.reason == 'Invalid' || c.type == 'ReferencesResolved' && c.reason in ['Missing', 'WrongIPFamily'])",fieldPath=".spec.ipBlock",message="ipBlock is immutable once it was found or made"
// +kubebuilder:resource:path=nvidiabmmclusters,shortName=bmmc,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta2=v1beta1","cluster.x-k8s.io/provider=infrastructure-nvidia-bmm","clusterctl.cluster.x-k8s.io="}
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that this object belongs to"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="All networks are as the spec wants them"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why it is not ready"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="Address of the API server"
// +kubebuilder:printcolumn:name="VPC",type="string",JSONPath=".status.vpcID",description="UUID of the VPC",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type NvidiaBMMCluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says which networks the cluster gets, and where.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.subnets) || !has(oldSelf.subnets) || self.subnets.all(s, oldSelf.subnets.all(o, s.name != o.name || (has(s.cidr) == has(o.cidr) && (!has(s.cidr) || s.cidr == o.cidr) && has(s.prefixLength) == has(o.prefixLength) && (!has(s.prefixLength) || s.prefixLength == o.prefixLength))))",fieldPath=".subnets",message="the size of a subnet can't be changed: add another one and remove this one"
	// +kubebuilder:validation:XValidation:rule="!has(self.vpcPrefixes) || !has(oldSelf.vpcPrefixes) || self.vpcPrefixes.all(s, oldSelf.vpcPrefixes.all(o, s.name != o.name || (has(s.cidr) == has(o.cidr) && (!has(s.cidr) || s.cidr == o.cidr) && has(s.prefixLength) == has(o.prefixLength) && (!has(s.prefixLength) || s.prefixLength == o.prefixLength))))",fieldPath=".vpcPrefixes",message="the size of a VPC prefix can't be changed: add another one and remove this one"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.controlPlaneEndpoint) || (has(self.controlPlaneEndpoint) && self.controlPlaneEndpoint == oldSelf.controlPlaneEndpoint)",message="controlPlaneEndpoint is immutable once it is set"
	Spec NvidiaBMMClusterSpec `json:"spec,omitzero"`

	// status is what is known of these networks.
	// +optional
	Status NvidiaBMMClusterStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the object.
func (c *NvidiaBMMCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (c *NvidiaBMMCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// OutsideIDs are the IDs of what the status says was made. What the spec names as the user's own isn't among them.
func (c *NvidiaBMMCluster) OutsideIDs() []ledgerv1.OutsideID {
	var ids []ledgerv1.OutsideID
	add := func(kind, id, users string) {
		if id != "" && id != users {
			ids = append(ids, ledgerv1.OutsideID{Kind: kind, ID: id})
		}
	}
	usersGroup := ""
	if group := c.Spec.VPC.NetworkSecurityGroup; group != nil {
		usersGroup = group.ID
	}
	add("IP block", c.Status.ParentIPBlockID, "")
	add("allocation", c.Status.AllocationID, "")
	add("network security group", c.Status.NetworkSecurityGroupID, usersGroup)
	add("VPC", c.Status.VPCID, c.Spec.VPC.ID)
	for _, s := range c.Status.Subnets {
		add("subnet", s.ID, "")
	}
	for _, p := range c.Status.VPCPrefixes {
		add("VPC prefix", p.ID, "")
	}
	for _, p := range c.Status.VPCPeerings {
		add("VPC peering", p.ID, "")
	}
	for i := range ids {
		ids[i].Scope = ledgerv1.Scope{KindSite: c.Status.SiteID, "VPC": c.Status.VPCID}
	}
	return ids
}

// KindSite is the kind of what networks and instances lie in, as ledgers name it.
const KindSite = "site"

// NvidiaBMMClusterList is a list of NvidiaBMMClusters.
//
// +kubebuilder:object:root=true
type NvidiaBMMClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NvidiaBMMCluster `json:"items"`
}
