// Package v1alpha1 holds the services on DPUs: DPUService, and the chains, interfaces and pools of addresses that connect them. A user
// writes DPUServices, DPUServiceChains, DPUServiceInterfaces and DPUServiceIPAMs in the host cluster. From these come ServiceChainSets and
// ServiceInterfaceSets in DPU clusters, and there ServiceChains and ServiceInterfaces, one for each node.
//
// Kinds and fields are those of NVIDIA's DOCA Platform Framework.
//
// +kubebuilder:object:generate=true
// +groupName=svc.dpu.nvidia.com
package v1alpha1
