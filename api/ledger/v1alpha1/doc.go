// Package v1alpha1 holds Ledger: what Bedplate remembers of the resources that it made outside Kubernetes for one object.
//
// There is one Go type and a CRD for each system, in a group of its own, such as bmm.bedplate.dev: a CRD that providers share
// would go with the first one that is uninstalled.
//
// +kubebuilder:object:generate=true
// +groupName=ledgers.bedplate.dev
package v1alpha1
