package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group that Cluster API expects of infrastructure providers, in our version.
var GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1"}

var schemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&NvidiaBMMCluster{}, &NvidiaBMMClusterList{},
		&NvidiaBMMClusterTemplate{}, &NvidiaBMMClusterTemplateList{},
		&NvidiaBMMMachine{}, &NvidiaBMMMachineList{},
		&NvidiaBMMMachineTemplate{}, &NvidiaBMMMachineTemplateList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
})

// AddToScheme makes the kinds of this package known to a scheme.
var AddToScheme = schemeBuilder.AddToScheme
