package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "svc.dpu.nvidia.com", Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&DPUService{}, &DPUServiceList{},
		&DPUServiceChain{}, &DPUServiceChainList{},
		&DPUServiceInterface{}, &DPUServiceInterfaceList{},
		&DPUServiceIPAM{}, &DPUServiceIPAMList{},
		&ServiceChain{}, &ServiceChainList{}, &ServiceChainSet{}, &ServiceChainSetList{},
		&ServiceInterface{}, &ServiceInterfaceList{}, &ServiceInterfaceSet{}, &ServiceInterfaceSetList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
})

// AddToScheme makes the kinds of this package known to a scheme.
var AddToScheme = schemeBuilder.AddToScheme
