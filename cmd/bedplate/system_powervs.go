package main

import (
	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	powervsorphans "github.com/bedplate/bedplate/internal/powervs/orphans"
	powervsplan "github.com/bedplate/bedplate/internal/powervs/plan"
)

var powervsSystem = system{
	name: "powervs", title: "IBM Power Virtual Server",
	scheme:  runtime.NewSchemeBuilder(infrav1.AddToScheme),
	ledgers: infrav1.LedgerGroup, owners: powervsOwners,
	plan: &powervsplan.System, orphans: &powervsorphans.System,
	examples: []string{"powervs", "powervs-class", "powervs-ignition"}, simulate: simulateIBMCloudCommand,
}
