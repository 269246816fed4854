package main

import (
	"k8s.io/apimachinery/pkg/runtime"

	krakev1 "github.com/bedplate/bedplate/api/krake/v1alpha1"
)

var krakeSystem = system{
	name: "krake", title: "whole clusters through an infrastructure manager",
	scheme:   runtime.NewSchemeBuilder(krakev1.AddToScheme),
	examples: []string{"krake"}, simulate: simulateIMCommand,
}
