// Package v1alpha1 holds what a tenant's network is made of: ResourceGroup, an L2 network of its own, and ManagedResource, a
// host behind a DPU that is put into one. The fields and their JSON names are those of the Hydrazine design.
//
// +kubebuilder:object:generate=true
// +groupName=resource.bedplate.dev
package v1alpha1
