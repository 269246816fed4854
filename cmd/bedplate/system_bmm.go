package main

import (
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "github.com/bedplate/bedplate/api/bmm/v1beta1"
	ledgerv1 "github.com/bedplate/bedplate/api/ledger/v1alpha1"
	bmmorphans "github.com/bedplate/bedplate/internal/bmm/orphans"
	bmmplan "github.com/bedplate/bedplate/internal/bmm/plan"
)

var bmmSystem = system{
	name: "bmm", title: "NVIDIA bare metal",
	scheme:  runtime.NewSchemeBuilder(infrav1.AddToScheme, machinev1.Install),
	ledgers: ledgerv1.GroupBMM, owners: bmmOwners,
	plan: &bmmplan.System, orphans: &bmmorphans.System,
	examples: []string{"bmm", "bmm-class", "openshift-machines"}, simulate: simulateBMMCommand,
}
