package main

import (
	"k8s.io/apimachinery/pkg/runtime"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
)

var dpfSystem = system{
	name: "dpf", title: "NVIDIA's DOCA Platform Framework on OpenShift",
	scheme:   runtime.NewSchemeBuilder(operatorv1.AddToScheme, svcv1.AddToScheme),
	examples: []string{"dpf"}, simulate: simulateOpenShiftCommand,
}
