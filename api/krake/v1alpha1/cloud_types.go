package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CloudType says how a cloud is logged in to.
//
// +kubebuilder:validation:Enum=openstack;im
type CloudType string

// Types of clouds.
const (
	CloudTypeOpenStack CloudType = "openstack"
	// CloudTypeIM is any cloud that the infrastructure manager knows.
	CloudTypeIM CloudType = "im"
)

// CloudSpec says what a cloud is, how good it is, and who makes clusters on it.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'openstack') == has(self.openstack)",fieldPath=".openstack",message="openstack is set with type openstack, and only then"
// +kubebuilder:validation:XValidation:rule="(self.type == 'im') == has(self.im)",fieldPath=".im",message="im is set with type im, and only then"
type CloudSpec struct {
	// type of the cloud: openstack, or im for any other cloud that the
	// infrastructure manager knows.
	// +required
	Type CloudType `json:"type,omitempty"`

	// openstack describes a cloud of type openstack.
	// +optional
	OpenStack *OpenStackCloud `json:"openstack,omitempty"`

	// im describes a cloud of type im.
	// +optional
	IM *IMCloud `json:"im,omitempty"`
}

// CloudUse is what the clouds of all types have.
type CloudUse struct {
	// metrics of the cloud: it is the better the higher their mean value is,
	// weighted.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Metrics []MetricReference `json:"metrics,omitempty"`

	// infrastructureProvider makes the clusters on this cloud.
	// +required
	InfrastructureProvider ProviderReference `json:"infrastructureProvider,omitzero"`
}

// OpenStackCloud is a project of an OpenStack.
type OpenStackCloud struct {
	// url of Keystone, such as https://openstack.example.com:5000.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s;]+$`
	URL string `json:"url,omitempty"`

	// auth says how to log in.
	// +required
	Auth OpenStackAuth `json:"auth,omitzero"`

	CloudUse `json:",inline"`
}

// OpenStackAuth says how to log in to an OpenStack.
type OpenStackAuth struct {
	// type of the login.
	// +optional
	// +kubebuilder:default=password
	// +kubebuilder:validation:Enum=password
	Type string `json:"type,omitempty"`

	// password logs a user in with a password.
	// +required
	Password OpenStackPassword `json:"password,omitzero"`
}

// OpenStackPassword logs a user in with a password.
type OpenStackPassword struct {
	// version of the identity API.
	// +optional
	// +kubebuilder:default="3"
	// +kubebuilder:validation:Enum="2";"3"
	Version string `json:"version,omitempty"`

	// secretRef names a Secret with the keys username and password, and
	// optionally domainName, the user's domain, which is Default if it is omitted.
	// It is in the namespace of this object, or, of a GlobalCloud, in the manager's
	// (--global-namespace).
	// +required
	SecretRef SecretReference `json:"secretRef,omitzero"`

	// project that clusters are made in.
	// +required
	Project OpenStackProject `json:"project,omitzero"`
}

// OpenStackProject is a project of an OpenStack.
type OpenStackProject struct {
	// name or UUID of the project.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name,omitempty"`

	// domainID is the ID of the project's domain.
	// +optional
	// +kubebuilder:default=default
	// +kubebuilder:validation:MaxLength=255
	DomainID string `json:"domainID,omitempty"`
}

// IMCloud is any cloud that the infrastructure manager knows.
type IMCloud struct {
	// secretRef names a Secret whose keys are the fields of the infrastructure
	// manager's credential for this cloud, such as type, host, username, password
	// and tenant. It is in the namespace of this object, or, of a GlobalCloud, in
	// the manager's (--global-namespace).
	// +required
	SecretRef SecretReference `json:"secretRef,omitzero"`

	CloudUse `json:",inline"`
}

// MetricReference is a metric of a cloud.
type MetricReference struct {
	// name of the metric.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// weight of the metric among those of the cloud. With 0 it serves
	// constraints only.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Weight float64 `json:"weight"`

	// namespaced says whether it is a Metric in the namespace of the Cloud, and
	// not a GlobalMetric.
	// +optional
	Namespaced bool `json:"namespaced,omitempty"`
}

// ProviderReference is the infrastructure provider of a cloud.
type ProviderReference struct {
	// name of the provider.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// namespaced says whether it is an InfrastructureProvider in the namespace of
	// the Cloud, and not a GlobalInfrastructureProvider.
	// +optional
	Namespaced bool `json:"namespaced,omitempty"`
}

// CloudState says in Krake's words whether a cloud can be judged.
//
// +kubebuilder:validation:Enum=ONLINE;FAILING_METRICS
type CloudState string

// States of a cloud.
const (
	CloudOnline         CloudState = "ONLINE"
	CloudFailingMetrics CloudState = "FAILING_METRICS"
)

// CloudStatus is what is known of a cloud.
type CloudStatus struct {
	// conditions of this object: MetricsAvailable says whether all of its metrics
	// have valid values.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// state is FAILING_METRICS as long as a metric has no valid value, and ONLINE
	// otherwise.
	// +optional
	State CloudState `json:"state,omitempty"`

	// metricsReasons say for each such metric, by its name, what is wrong with it.
	// +optional
	MetricsReasons map[string]Reason `json:"metricsReasons,omitempty"`

	// clusters is the number of Clusters that are bound to this cloud.
	// +optional
	Clusters int32 `json:"clusters"`
}

// Cloud is one that Clusters of its namespace can be made on.
//
// +kubebuilder:validation:XValidation:rule="oldSelf.?status.clusters.orValue(0) == 0 || self.spec.type == oldSelf.spec.type && (!has(self.spec.openstack) || self.spec.openstack.url == oldSelf.spec.openstack.url && self.spec.openstack.auth.password.project.name == oldSelf.spec.openstack.auth.password.project.name && self.spec.openstack.auth.password.project.domainID == oldSelf.spec.openstack.auth.password.project.domainID && self.spec.openstack.infrastructureProvider.name == oldSelf.spec.openstack.infrastructureProvider.name && self.spec.openstack.infrastructureProvider.?namespaced.orValue(false) == oldSelf.spec.openstack.infrastructureProvider.?namespaced.orValue(false)) && (!has(self.spec.im) || self.spec.im.infrastructureProvider.name == oldSelf.spec.im.infrastructureProvider.name && self.spec.im.infrastructureProvider.?namespaced.orValue(false) == oldSelf.spec.im.infrastructureProvider.?namespaced.orValue(false))",fieldPath=".spec",message="Clusters are on this cloud (status.clusters), and are changed and deleted where it says: write another one instead of another type, url, project or infrastructureProvider"
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clouds,scope=Namespaced,categories=krake
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".spec.type",description="Type of the cloud"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.state",description="Whether its metrics have values"
// +kubebuilder:printcolumn:name="Clusters",type="integer",JSONPath=".status.clusters",description="Clusters that are bound to it"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type Cloud struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. Constraints refer to its labels.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what the cloud is, how good it is, and who makes clusters on it.
	// +required
	Spec CloudSpec `json:"spec,omitzero"`

	// status is what is known of the cloud.
	// +optional
	Status CloudStatus `json:"status,omitzero"`
}

// CloudList is a list of Clouds.
//
// +kubebuilder:object:root=true
type CloudList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cloud `json:"items"`
}

// GlobalCloud is one that Clusters of all namespaces can be made on, where no
// Cloud of their own matches.
//
// +kubebuilder:validation:XValidation:rule="oldSelf.?status.clusters.orValue(0) == 0 || self.spec.type == oldSelf.spec.type && (!has(self.spec.openstack) || self.spec.openstack.url == oldSelf.spec.openstack.url && self.spec.openstack.auth.password.project.name == oldSelf.spec.openstack.auth.password.project.name && self.spec.openstack.auth.password.project.domainID == oldSelf.spec.openstack.auth.password.project.domainID && self.spec.openstack.infrastructureProvider.name == oldSelf.spec.openstack.infrastructureProvider.name && self.spec.openstack.infrastructureProvider.?namespaced.orValue(false) == oldSelf.spec.openstack.infrastructureProvider.?namespaced.orValue(false)) && (!has(self.spec.im) || self.spec.im.infrastructureProvider.name == oldSelf.spec.im.infrastructureProvider.name && self.spec.im.infrastructureProvider.?namespaced.orValue(false) == oldSelf.spec.im.infrastructureProvider.?namespaced.orValue(false))",fieldPath=".spec",message="Clusters are on this cloud (status.clusters), and are changed and deleted where it says: write another one instead of another type, url, project or infrastructureProvider"
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=globalclouds,scope=Cluster,categories=krake
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".spec.type",description="Type of the cloud"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.state",description="Whether its metrics have values"
// +kubebuilder:printcolumn:name="Clusters",type="integer",JSONPath=".status.clusters",description="Clusters that are bound to it"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type GlobalCloud struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. Constraints refer to its labels.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what the cloud is, how good it is, and who makes clusters on it.
	// It refers to Global kinds only.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.openstack) || !has(self.openstack.infrastructureProvider.namespaced) || !self.openstack.infrastructureProvider.namespaced",fieldPath=".openstack.infrastructureProvider",message="a GlobalCloud has a GlobalInfrastructureProvider: remove namespaced"
	// +kubebuilder:validation:XValidation:rule="!has(self.im) || !has(self.im.infrastructureProvider.namespaced) || !self.im.infrastructureProvider.namespaced",fieldPath=".im.infrastructureProvider",message="a GlobalCloud has a GlobalInfrastructureProvider: remove namespaced"
	// +kubebuilder:validation:XValidation:rule="!has(self.openstack) || !has(self.openstack.metrics) || self.openstack.metrics.all(m, !has(m.namespaced) || !m.namespaced)",fieldPath=".openstack.metrics",message="a GlobalCloud has GlobalMetrics: remove namespaced"
	// +kubebuilder:validation:XValidation:rule="!has(self.im) || !has(self.im.metrics) || self.im.metrics.all(m, !has(m.namespaced) || !m.namespaced)",fieldPath=".im.metrics",message="a GlobalCloud has GlobalMetrics: remove namespaced"
	Spec CloudSpec `json:"spec,omitzero"`

	// status is what is known of the cloud.
	// +optional
	Status CloudStatus `json:"status,omitzero"`
}

// GlobalCloudList is a list of GlobalClouds.
//
// +kubebuilder:object:root=true
type GlobalCloudList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GlobalCloud `json:"items"`
}
