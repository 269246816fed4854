// Package components is what the operator deploys: manifests on the host cluster, and DPUServices for DPU clusters.
package components

// BFBClaim is the PersistentVolumeClaim that NVIDIA's provisioning controller keeps BlueField images on. It is bound to
// bfbPersistentVolume.
const BFBClaim = "bfb-pvc"
