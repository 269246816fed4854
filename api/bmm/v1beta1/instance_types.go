package v1beta1

// InstanceSpec says what an instance is like: for Cluster API's machines, and for
// OpenShift's. Nothing of it can be changed, because the instance gets it when it
// is created.
type InstanceSpec struct {
	// instanceType says which hardware the instance runs on. It can't be changed.
	// +required
	InstanceType InstanceTypeReference `json:"instanceType,omitzero"`

	// operatingSystem says what the instance boots. It can't be changed.
	// +required
	OperatingSystem OperatingSystemReference `json:"operatingSystem,omitzero"`

	// alwaysBootWithCustomIpxe runs the iPXE script at every boot and not at the
	// first one only. It goes with ipxeScript, or with an operating system of the
	// iPXE type. It can't be changed.
	// +optional
	AlwaysBootWithCustomIpxe *bool `json:"alwaysBootWithCustomIpxe,omitempty"`

	// phoneHomeEnabled lets the instance tell the BMM API when it has booted. The
	// BMM API then rewrites the user data, and puts "#cloud-config" above the
	// "## template: jinja" of kubeadm's bootstrap data, which no longer works: set
	// it with other bootstrap data only. It can't be changed.
	// +optional
	// +kubebuilder:default=false
	PhoneHomeEnabled *bool `json:"phoneHomeEnabled,omitempty"`

	// network says which networks the instance is attached to. It can't be
	// changed.
	// +optional
	Network NetworkSpec `json:"network,omitzero"`

	// infiniBandInterfaces attach the instance to InfiniBand partitions. They
	// can't be changed.
	// +optional
	// +listType=map
	// +listMapKey=device
	// +listMapKey=deviceInstance
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	InfiniBandInterfaces []InfiniBandInterface `json:"infiniBandInterfaces,omitempty"`

	// nvlinkInterfaces attach GPUs of the instance to NVLink logical partitions.
	// They can't be changed.
	// +optional
	// +listType=map
	// +listMapKey=deviceInstance
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	NVLinkInterfaces []NVLinkInterface `json:"nvlinkInterfaces,omitempty"`

	// dpuExtensionServices are services that run on the DPUs of the instance. They
	// can't be changed.
	// +optional
	// +listType=map
	// +listMapKey=serviceID
	// +listMapKey=version
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	DPUExtensionServices []DPUExtensionService `json:"dpuExtensionServices,omitempty"`

	// sshKeyGroups are the UUIDs of the tenant's SSH key groups that may reach the
	// serial console. They can't be changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:items:MaxLength=36
	SSHKeyGroups []string `json:"sshKeyGroups,omitempty"`

	// description is free text for the people who look at the instance. It can't
	// be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`

	// labels are put on the instance when it is created. Names that begin with
	// "bedplate-" are kept for Bedplate. They can't be changed.
	// +optional
	Labels ResourceLabels `json:"labels,omitempty"`
}

// InstanceTypeReference picks the hardware: any free machine of a type, or one
// certain machine.
//
// +kubebuilder:validation:XValidation:rule="has(self.id) != has(self.machineID)",message="exactly one of id and machineID must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.allowUnhealthyMachine) || has(self.machineID)",message="allowUnhealthyMachine goes with machineID"
type InstanceTypeReference struct {
	// id is the UUID of an instance type: any free machine of the type is taken.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	ID string `json:"id,omitempty"`

	// machineID is one certain machine, for tenants that may choose.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	MachineID string `json:"machineID,omitempty"`

	// allowUnhealthyMachine takes the machine of machineID even when the site
	// reports it unhealthy.
	// +optional
	AllowUnhealthyMachine *bool `json:"allowUnhealthyMachine,omitempty"`
}

// OperatingSystemReference is what an instance boots: an operating system that
// the BMM API offers to the tenant, or a script.
//
// +kubebuilder:validation:XValidation:rule="has(self.id) != has(self.ipxeScript)",message="exactly one of id and ipxeScript must be set"
type OperatingSystemReference struct {
	// id is the UUID of the operating system.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	ID string `json:"id,omitempty"`

	// ipxeScript boots the instance over the network, without an operating system
	// of the BMM API.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	IPXEScript string `json:"ipxeScript,omitempty"`

	// type is informational only, such as ubuntu: id or ipxeScript
	// decides.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Type string `json:"type,omitempty"`

	// version is informational only, such as 24.04: id or ipxeScript
	// decides.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
}

// DPUExtensionService is a service that runs on the DPUs of an instance.
type DPUExtensionService struct {
	// serviceID is the UUID of the service.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:MaxLength=36
	ServiceID string `json:"serviceID,omitempty"`

	// version of the service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`
}

// InstanceStatus is what the BMM API says of an instance.
type InstanceStatus struct {
	// instanceID is the UUID of the instance.
	// +optional
	InstanceID string `json:"instanceID,omitempty"`

	// instanceState is the instance's state in the BMM API's words, such as
	// Provisioning or Ready.
	// +optional
	InstanceState string `json:"instanceState,omitempty"`

	// machineID is the physical machine under the instance.
	// +optional
	MachineID string `json:"machineID,omitempty"`

	// serialConsoleURL is where the serial console is reached, with a key of one
	// of the sshKeyGroups.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	SerialConsoleURL string `json:"serialConsoleURL,omitempty"`
}
