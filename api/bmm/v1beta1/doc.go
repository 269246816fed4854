// Package v1beta1 holds the objects a platform engineer writes to get Cluster API clusters on NVIDIA bare metal
// (BMM, also known as Carbide, NCX Infra Controller and NICo).
//
// The kinds follow Cluster API's v1beta2 contract for infrastructure providers; field names are those of NVIDIA's
// REST API and of the providers before this one.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta1
