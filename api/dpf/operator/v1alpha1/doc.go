// Package v1alpha1 holds what a user writes to install the DOCA Platform Framework on an OpenShift cluster and its DPU clusters, and to move
// the network of its workers onto their DPUs: DPFOperatorConfig.
//
// Group, kind, field names, conditions, reasons and the finalizer are those of NVIDIA's DPF operator, whose CRDs can't be installed beside
// these. What is ours is said at each field.
//
// +kubebuilder:object:generate=true
// +groupName=operator.dpu.nvidia.com
package v1alpha1
