package v1beta2

// DHCPServer says how the DHCP server of a PowerVS workspace is created.
// PowerVS makes its private network with it.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.id) && has(self.name))",message="at most one of id and name may be set: keep id for a DHCP server of your own, name for one to create"
type DHCPServer struct {
	// cidr is the IPv4 range of the private network, such as 192.168.152.0/24.
	// When it is omitted PowerVS chooses one.
	// +optional
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="cidr must be an IPv4 range such as 192.168.152.0/24"
	Cidr string `json:"cidr,omitempty"`

	// dnsServer is the IPv4 address of the DNS server that machines are told to
	// use.
	// +optional
	// +kubebuilder:default="1.1.1.1"
	// +kubebuilder:validation:Format=ipv4
	DNSServer string `json:"dnsServer,omitempty"`

	// name of the DHCP server to create. Its network is called
	// DHCPSERVER<name>_Private. Only letters, digits and dashes are allowed.
	// When it is omitted it is the name of the cluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9-]+$`
	Name string `json:"name,omitempty"`

	// id of an existing DHCP server, which is used and never deleted.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	ID string `json:"id,omitempty"`

	// snat says whether machines reach the internet through the DHCP server.
	// +optional
	// +kubebuilder:default=true
	Snat *bool `json:"snat,omitempty"`
}

// VPCResourceReference names a VPC by its ID or by its name.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.id) && has(self.name))",message="at most one of id and name may be set: keep one of them"
type VPCResourceReference struct {
	// id of a VPC that exists, which is used and never deleted.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[-0-9a-z_]+$`
	ID string `json:"id,omitempty"`

	// name of the VPC. If one of this name exists it is used and never deleted;
	// otherwise one is created.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z]|[a-z][-a-z0-9]*[a-z0-9])$`
	Name string `json:"name,omitempty"`

	// region of the VPC, such as us-south. Required with the annotation
	// powervs.cluster.x-k8s.io/create-infra: "true".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]*$`
	Region string `json:"region,omitempty"`
}

// VPCResource names a resource of the VPC by its ID or by its name.
//
// +kubebuilder:validation:XValidation:rule="has(self.id) != has(self.name)",message="exactly one of id and name must be set"
type VPCResource struct {
	// id of the resource. It must exist.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id,omitempty"`

	// name of the resource, which this cluster has or which exists in the VPC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
}

// Subnet is a subnet of the VPC.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.id) && has(self.name))",message="at most one of id and name may be set: keep one of them"
type Subnet struct {
	// cidr is the IPv4 range of a subnet to create, such as 10.240.0.0/24. When
	// it is omitted a range of 256 addresses is taken from the zone's address
	// prefix.
	// +optional
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="cidr must be an IPv4 range such as 10.240.0.0/24"
	Ipv4CidrBlock string `json:"cidr,omitempty"`

	// name of the subnet. If the VPC has one of this name it is used and never
	// deleted; otherwise one is created. When it is omitted it is
	// <cluster>-vpcsubnet-<index>, and the entry has to keep its place in the
	// list.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z]|[a-z][-a-z0-9]*[a-z0-9])$`
	Name string `json:"name,omitempty"`

	// id of a subnet that exists, which is used and never deleted.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[-0-9a-z_]+$`
	ID string `json:"id,omitempty"`

	// zone of the VPC's region in which the subnet is created, such as
	// us-south-1. When it is omitted one is chosen at random, once.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]*$`
	Zone string `json:"zone,omitempty"`
}

// TransitGateway names a transit gateway by its ID or by its name.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.id) && has(self.name))",message="at most one of id and name may be set: keep one of them"
type TransitGateway struct {
	// name of the gateway. If one of this name exists it is used and never
	// deleted, with the connections that it has; otherwise one is created.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-zA-Z]|[a-zA-Z][-_a-zA-Z0-9]*[a-zA-Z0-9])$`
	Name string `json:"name,omitempty"`

	// id of a gateway that exists, which is used and never deleted.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	ID string `json:"id,omitempty"`

	// globalRouting says whether a gateway that is created connects different
	// regions. When it is omitted it does so if the regions of the PowerVS zone
	// and of the VPC differ.
	// +optional
	GlobalRouting *bool `json:"globalRouting,omitempty"`
}

// CosInstance is an instance of IBM Cloud Object Storage with a bucket, for
// the bootstrap data of machines that boot with Ignition.
type CosInstance struct {
	// name of the instance. If one of this name exists it is used and never
	// deleted; otherwise one is created. Required with ignition and the
	// annotation powervs.cluster.x-k8s.io/create-infra: "true".
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`
	Name string `json:"name,omitempty"`

	// bucketName is the name of the bucket, which is unique in all of IBM Cloud.
	// If the instance has one of this name it is used and never deleted;
	// otherwise it is created. Required with ignition and the annotation
	// powervs.cluster.x-k8s.io/create-infra: "true".
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`
	BucketName string `json:"bucketName,omitempty"`

	// bucketRegion is the region of the bucket, such as us-south. Required with
	// ignition and the annotation powervs.cluster.x-k8s.io/create-infra: "true".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]+$`
	BucketRegion string `json:"bucketRegion,omitempty"`
}

// Ignition says how machines boot whose bootstrap data is for Ignition.
type Ignition struct {
	// version of the Ignition configuration that machines are started with.
	// +optional
	// +kubebuilder:default="2.3"
	// +kubebuilder:validation:Enum="2.3";"2.4";"3.0";"3.1";"3.2";"3.3";"3.4"
	Version string `json:"version,omitempty"`
}
