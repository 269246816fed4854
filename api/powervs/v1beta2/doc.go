// Package v1beta2 holds the objects that a platform engineer writes to get Cluster API clusters on IBM Power Virtual Server.
//
// The kinds follow Cluster API's v1beta2 contract for infrastructure providers. Names of kinds, fields, conditions and finalizers
// are those of version v1beta2 of kubernetes-sigs/cluster-api-provider-ibmcloud, so that its manifests apply unchanged.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta2
