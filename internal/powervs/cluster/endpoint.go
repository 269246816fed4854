package cluster

import (
	infrav1 "github.com/bedplate/bedplate/api/powervs/v1beta2"
	"github.com/bedplate/bedplate/internal/graph/phases"
	ibm "github.com/bedplate/bedplate/internal/powervs/client"
)

// publish the hostname of the public load balancer as the cluster's endpoint, once it is active. What is set already is the user's, or
// was published before.
func (r *resources) publish() {
	if r.public == nil || r.object.Spec.ControlPlaneEndpoint.Host != "" {
		return
	}
	if b := r.public.Object(); b != nil && b.Status == ibm.BalancerActive && b.Hostname != "" {
		port := APIPort(r.owner, r.object)
		r.object.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: b.Hostname, Port: int32(port)} //nolint:gosec // it is a port
	}
}

// endpoint reports whether a control plane can begin that no load balancer leads to: KubeadmControlPlane does nothing until the endpoint
// is known.
func (r *resources) endpoint() phases.Phase {
	if r.object.Spec.ControlPlaneEndpoint.Host != "" || r.owner == nil || r.owner.Spec.ControlPlaneEndpoint.IsValid() ||
		r.owner.Spec.ControlPlaneRef.Kind != "KubeadmControlPlane" {
		return notWanted()
	}
	return phases.Failed("KubeadmControlPlane %s waits for an endpoint: set spec.controlPlaneEndpoint to an address that leads to the "+
		"control plane, such as a virtual IP", r.owner.Spec.ControlPlaneRef.Name).Because("NoEndpoint")
}
