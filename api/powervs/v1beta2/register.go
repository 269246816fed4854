package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group that Cluster API expects of infrastructure providers, in the version of these kinds.
var GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2"}

// LedgerGroup is the API group of the ledgers of this system.
const LedgerGroup = "powervs.bedplate.dev"

var schemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&IBMPowerVSCluster{}, &IBMPowerVSClusterList{},
		&IBMPowerVSClusterTemplate{}, &IBMPowerVSClusterTemplateList{},
		&IBMPowerVSMachine{}, &IBMPowerVSMachineList{},
		&IBMPowerVSMachineTemplate{}, &IBMPowerVSMachineTemplateList{},
		&IBMPowerVSImage{}, &IBMPowerVSImageList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
})

// AddToScheme makes the kinds of this package known to a scheme.
var AddToScheme = schemeBuilder.AddToScheme
