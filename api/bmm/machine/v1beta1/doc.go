// Package v1beta1 holds what stands in the providerSpec and the providerStatus of an OpenShift Machine that is a bare-metal
// instance.
//
// +kubebuilder:object:generate=true
// +groupName=machine.bmm.bedplate.dev
package v1beta1
