package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "krake.bedplate.dev", Version: "v1alpha1"}

// LedgerGroup is the API group of the ledgers of this system.
const LedgerGroup = "krake.bedplate.dev"

var schemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Cluster{}, &ClusterList{},
		&Cloud{}, &CloudList{}, &GlobalCloud{}, &GlobalCloudList{},
		&InfrastructureProvider{}, &InfrastructureProviderList{}, &GlobalInfrastructureProvider{}, &GlobalInfrastructureProviderList{},
		&Metric{}, &MetricList{}, &GlobalMetric{}, &GlobalMetricList{},
		&MetricsProvider{}, &MetricsProviderList{}, &GlobalMetricsProvider{}, &GlobalMetricsProviderList{},
		&CloudBinding{}, &CloudBindingList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
})

// AddToScheme makes the kinds of this package known to a scheme.
var AddToScheme = schemeBuilder.AddToScheme
