package main

import (
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/runtime"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	dpfdescribe "github.com/bedplate/bedplate/internal/dpf/describe"
	dpfplan "github.com/bedplate/bedplate/internal/dpf/plan"
)

// DPF has a journal instead of ledgers, and so no orphans.
var dpfSystem = system{
	name: "dpf", title: "NVIDIA's DOCA Platform Framework on OpenShift",
	scheme:   runtime.NewSchemeBuilder(operatorv1.AddToScheme, svcv1.AddToScheme, configv1.Install),
	examples: []string{"dpf"}, simulate: simulateOpenShiftCommand,
	describe: dpfdescribe.Kinds, plan: &dpfplan.System,
}
