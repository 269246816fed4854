package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MetricSpec says where the values of a metric come from, and which are valid.
//
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",fieldPath=".max",message="max is less than min: exchange them"
// +kubebuilder:validation:XValidation:rule="!has(self.allowedValues) || self.allowedValues.all(v, self.min <= v && v <= self.max)",fieldPath=".allowedValues",message="an allowed value is less than min or greater than max: change these, or remove it"
type MetricSpec struct {
	// min is the least valid value.
	// +required
	Min float64 `json:"min"`

	// max is the greatest valid value.
	// +required
	Max float64 `json:"max"`

	// allowedValues are the only valid values. When they are omitted it is all
	// from min to max.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	AllowedValues []float64 `json:"allowedValues,omitempty"`

	// provider has the values.
	// +required
	Provider MetricSource `json:"provider,omitzero"`
}

// MetricSource is where the values of a metric come from.
type MetricSource struct {
	// name of the provider: a MetricsProvider in the namespace of a Metric, or
	// the GlobalMetricsProvider of a GlobalMetric.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// metric is the name that the metric has at the provider: a key of a static
	// one, a query of Prometheus.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Metric string `json:"metric,omitempty"`
}

// Metric of Clouds of its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metrics,scope=Namespaced,categories=krake
// +kubebuilder:printcolumn:name="Provider",type="string",JSONPath=".spec.provider.name",description="Where its values come from"
// +kubebuilder:printcolumn:name="Min",type="number",JSONPath=".spec.min",description="Least valid value"
// +kubebuilder:printcolumn:name="Max",type="number",JSONPath=".spec.max",description="Greatest valid value"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type Metric struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says where the values of the metric come from, and which are valid.
	// +required
	Spec MetricSpec `json:"spec,omitzero"`
}

// MetricList is a list of Metrics.
//
// +kubebuilder:object:root=true
type MetricList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metric `json:"items"`
}

// GlobalMetric of any clouds.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=globalmetrics,scope=Cluster,categories=krake
// +kubebuilder:printcolumn:name="Provider",type="string",JSONPath=".spec.provider.name",description="Where its values come from"
// +kubebuilder:printcolumn:name="Min",type="number",JSONPath=".spec.min",description="Least valid value"
// +kubebuilder:printcolumn:name="Max",type="number",JSONPath=".spec.max",description="Greatest valid value"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type GlobalMetric struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says where the values of the metric come from, and which are valid.
	// +required
	Spec MetricSpec `json:"spec,omitzero"`
}

// GlobalMetricList is a list of GlobalMetrics.
//
// +kubebuilder:object:root=true
type GlobalMetricList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GlobalMetric `json:"items"`
}

// MetricsProviderType says what has the values of metrics.
//
// +kubebuilder:validation:Enum=static;prometheus
type MetricsProviderType string

// Types of metrics providers.
const (
	MetricsProviderStatic     MetricsProviderType = "static"
	MetricsProviderPrometheus MetricsProviderType = "prometheus"
)

// MetricsProviderSpec says what has the values of metrics.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'static') == has(self.static)",fieldPath=".static",message="static is set with type static, and only then"
// +kubebuilder:validation:XValidation:rule="(self.type == 'prometheus') == has(self.prometheus)",fieldPath=".prometheus",message="prometheus is set with type prometheus, and only then"
type MetricsProviderSpec struct {
	// type of the provider.
	// +required
	Type MetricsProviderType `json:"type,omitempty"`

	// static gives the values itself.
	// +optional
	Static *StaticMetrics `json:"static,omitempty"`

	// prometheus is asked for the values.
	// +optional
	Prometheus *PrometheusMetrics `json:"prometheus,omitempty"`
}

// StaticMetrics are values that don't change by themselves.
type StaticMetrics struct {
	// metrics are the values, by the names of the metrics.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=100
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

// PrometheusMetrics come from a Prometheus server.
type PrometheusMetrics struct {
	// url of the server, such as https://prometheus.example.com.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s@]+$`
	URL string `json:"url,omitempty"`
}

// MetricsProvider has the values of Metrics of its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metricsproviders,scope=Namespaced,categories=krake
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".spec.type",description="Type of the provider"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type MetricsProvider struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what has the values.
	// +required
	Spec MetricsProviderSpec `json:"spec,omitzero"`
}

// MetricsProviderList is a list of MetricsProviders.
//
// +kubebuilder:object:root=true
type MetricsProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MetricsProvider `json:"items"`
}

// GlobalMetricsProvider has the values of GlobalMetrics.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=globalmetricsproviders,scope=Cluster,categories=krake
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".spec.type",description="Type of the provider"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type GlobalMetricsProvider struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec says what has the values.
	// +required
	Spec MetricsProviderSpec `json:"spec,omitzero"`
}

// GlobalMetricsProviderList is a list of GlobalMetricsProviders.
//
// +kubebuilder:object:root=true
type GlobalMetricsProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GlobalMetricsProvider `json:"items"`
}
