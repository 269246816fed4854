// Package v1alpha1 holds what the network fabric lends to Hydrazine: public addresses.
//
// +kubebuilder:object:generate=true
// +groupName=networkfabric.bedplate.dev
package v1alpha1
