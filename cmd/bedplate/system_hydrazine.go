package main

import (
	"k8s.io/apimachinery/pkg/runtime"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	hydrazinedescribe "github.com/bedplate/bedplate/internal/hydrazine/describe"
)

var hydrazineSystem = system{
	name: "hydrazine", title: "tenants' networks over bare metal",
	scheme:   runtime.NewSchemeBuilder(resourcev1.AddToScheme, networkfabricv1.AddToScheme),
	describe: hydrazinedescribe.Kinds,
	examples: []string{"hydrazine"}, canRun: canRunOverlay,
}
