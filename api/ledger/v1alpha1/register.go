package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Version of ledgers, in the group of each system.
const Version = "v1alpha1"

// GroupBMM is the group of the ledgers of NVIDIA bare metal.
const GroupBMM = "bmm.bedplate.dev"

// AddToScheme makes the ledgers of one group known to a scheme. A scheme knows those of one group only: a client finds the
// group by the Go type.
func AddToScheme(group string) func(*runtime.Scheme) error {
	version := schema.GroupVersion{Group: group, Version: Version}
	return func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(version, &Ledger{}, &LedgerList{})
		metav1.AddToGroupVersion(scheme, version)
		return nil
	}
}
