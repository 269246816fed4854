package v1beta2

// IBMPowerVSResourceReference names a resource by its ID, by its name, or by
// a regular expression that its name matches.
//
// +kubebuilder:validation:XValidation:rule="[has(self.id), has(self.name), has(self.regex)].filter(set, set).size() <= 1",message="at most one of id, name and regex may be set: keep one of them"
type IBMPowerVSResourceReference struct {
	// id of the resource. It must exist.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	ID string `json:"id,omitempty"`

	// name of the resource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name,omitempty"`

	// regex is a regular expression (RE2) that the name of exactly one resource
	// matches. Only the network of a machine can be named like this; elsewhere
	// it is ignored, with a warning.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	RegEx string `json:"regex,omitempty"`
}

// Authentication says how to log in to IBM Cloud.
type Authentication struct {
	// secretRef names a Secret in the namespace of this object with the key
	// apiKey (an IAM API key) and optionally the endpoints of the services and
	// ca.crt (certificates to trust beside the system's). A changed Secret is
	// used at once, without a restart.
	// +required
	SecretRef SecretReference `json:"secretRef,omitzero"`
}

// SecretReference names a Secret in the namespace of the object that refers
// to it. Secrets of other namespaces can't be used.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// APIEndpoint is where a cluster's API server is reached.
//
// +kubebuilder:validation:XValidation:rule="(has(self.host) && self.host != \"\") == (has(self.port) && self.port != 0)",message="host and port are set together: set both, or none"
type APIEndpoint struct {
	// host is an IP address or a DNS name. Empty: not known yet.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`

	// port of the API server. 0: not known yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// ResourceReference is a resource that exists.
type ResourceReference struct {
	// id of the resource.
	// +optional
	ID string `json:"id,omitempty"`

	// controllerCreated says whether the resource was created for this object,
	// and is deleted with it. What existed before is never deleted.
	// +optional
	// +kubebuilder:default=false
	ControllerCreated bool `json:"controllerCreated,omitempty"`
}
