package main

import (
	"k8s.io/apimachinery/pkg/runtime"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
	krakedescribe "github.com/bedplate/bedplate/internal/krake/describe"
	krakeorphans "github.com/bedplate/bedplate/internal/krake/orphans"
	krakeplan "github.com/bedplate/bedplate/internal/krake/plan"
	"github.com/bedplate/bedplate/internal/krake/provider"
)

var krakeSystem = system{
	name: "krake", title: "whole clusters through an infrastructure manager",
	scheme:  runtime.NewSchemeBuilder(krakev1.AddToScheme),
	ledgers: krakev1.LedgerGroup, owners: krakeOwners, describe: krakedescribe.Kinds,
	plan: &krakeplan.System, orphans: &krakeorphans.System, globalNamespace: provider.DefaultGlobalNamespace,
	examples: []string{"krake"}, simulate: simulateIMCommand,
}
