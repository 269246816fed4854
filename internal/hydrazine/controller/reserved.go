package controller

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	networkfabricv1 "github.com/bedplate/bedplate/api/hydrazine/networkfabric/v1alpha1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/membership"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
)

// Reserved says which of a resource's addresses on the fabric no host can have, and what it is. Those that the host's DPU answers for
// already stay: later site rules remove no attached host from its network. The reader has the controllers' indexes.
func Reserved(ctx context.Context, c client.Reader, r *resourcev1.ManagedResource) (ip resourcev1.IPAddress, what string, err error) {
	if len(asked(r)) == 0 {
		return "", "", nil
	}
	policy, err := overlay.Policy(ctx, c)
	if err != nil {
		return "", "", err
	}
	gateways, err := gatewaysOf(ctx, c, r.Spec.DPUIPs[0])
	if err != nil {
		return "", "", err
	}
	for _, ip := range asked(r) {
		switch a := overlay.Address(ip); {
		case overlay.IsDPUs(policy, a):
			return ip, "in dpuPrefixes of the FabricPolicy, which are for DPUs only", nil
		case overlay.IsShared(policy, a, overlay.Address(r.Spec.DPUIPs[0])):
			return ip, "in sharedServices of the FabricPolicy", nil
		case overlay.IsReserved(policy, a):
			return ip, "in reservedPrefixes of the FabricPolicy", nil
		case slices.Contains(gateways, ip):
			return ip, "the gateway of its DPU", nil
		}
	}
	return "", "", nil
}

// asked are the addresses that a resource asks for its host and doesn't have yet.
func asked(r *resourcev1.ManagedResource) []resourcev1.IPAddress {
	has := membership.Reached(r)
	return slices.DeleteFunc(slices.Clone(r.Spec.DPUIPs[1:]), func(ip resourcev1.IPAddress) bool { return slices.Contains(has, ip) })
}

// gatewaysOf a DPU, by its reports for other hosts behind it. Reports of other DPUs count for their own hosts only.
func gatewaysOf(ctx context.Context, c client.Reader, dpu resourcev1.IPAddress) (all []resourcev1.IPAddress, err error) {
	behind, err := WithFabricIP(ctx, c, dpu)
	if err != nil {
		return nil, err
	}
	for i := range behind {
		if at := behind[i].Status.LogicalPortReference; at != nil && at.Agent == dpu {
			all = append(all, at.FabricGateway, at.SecondFabricGateway)
		}
	}
	return slices.DeleteFunc(all, func(ip resourcev1.IPAddress) bool { return ip == "" }), nil
}

// reserved is what Reserved says, and what only the controller knows: addresses of the programs that make the networks, of the routers
// that these speak to, and public ones that existed before the host.
func (r *resourceReconciler) reserved(
	ctx context.Context, resource *resourcev1.ManagedResource, report agents.Report,
) (resourcev1.IPAddress, string, error) {
	if ip, what, err := Reserved(ctx, r, resource); what != "" || err != nil {
		return ip, what, err
	}
	asks := asked(resource)
	if len(asks) == 0 { // a host that is attached doesn't depend on what else can be read
		return "", "", nil
	}
	control, err := r.control.addresses(ctx)
	if err != nil {
		return "", "", err
	}
	for _, ip := range asks {
		switch a := overlay.Address(ip); {
		case slices.Contains(report.GetUplink().GetOtherAddresses(), string(ip)):
			return ip, "an address of its DPU", nil
		case slices.Contains(control.all, a):
			return ip, "of the control plane", nil
		case slices.Contains(control.routers, a):
			return ip, "of a router that public addresses are announced to", nil
		}
		gateway, err := r.gatewayOfSeveral(ctx, overlay.Address(ip))
		if err != nil {
			return "", "", err
		}
		if gateway {
			return ip, "a gateway that DPUs of several namespaces report", nil
		}
		public, err := PublicIPsWith(ctx, r, ip)
		if err != nil {
			return "", "", err
		}
		for i := range public { // a younger one isn't assigned
			if public[i].Status.Allocated || !resource.CreationTimestamp.Before(&public[i].CreationTimestamp) {
				return ip, "a public address", nil
			}
		}
	}
	return "", "", nil
}

// gatewayOfSeveral reports whether DPUs call an address a gateway that serve hosts of more than one namespace. One tenant's DPUs alone may
// report anything, so they don't count.
func (r *resourceReconciler) gatewayOfSeveral(ctx context.Context, ip netip.Addr) (bool, error) {
	namespace := ""
	for _, dpu := range r.agents.Gateway(ip) {
		behind, err := WithFabricIP(ctx, r, resourcev1.IPAddress(dpu))
		if err != nil {
			return false, err
		}
		for i := range behind {
			if at := behind[i].Status.LogicalPortReference; at == nil || at.Agent != resourcev1.IPAddress(dpu) || !attachedByUs(&behind[i]) {
				continue
			}
			if namespace != "" && namespace != behind[i].Namespace {
				return true, nil
			}
			namespace = behind[i].Namespace
		}
	}
	return false, nil
}

// foreign returns one of the unproven addresses of a DPU that can't be its own, and what it is. It names no object: that may be
// another tenant's.
func (r *resourceReconciler) foreign(
	ctx context.Context, resource *resourcev1.ManagedResource, report agents.Report, unproven []netip.Addr,
) (string, error) {
	if len(unproven) == 0 {
		return "", nil
	}
	policy, err := overlay.Policy(ctx, r)
	if err != nil {
		return "", err
	}
	control, err := r.control.addresses(ctx)
	if err != nil {
		return "", err
	}
	for _, a := range unproven[:min(len(unproven), maxAddresses)] {
		what, err := r.whose(ctx, resource, report, policy, control, a)
		if what != "" || err != nil {
			return fmt.Sprintf("%s, which is %s", a, what), err
		}
	}
	return "", nil
}

// whose address this is, if it can't be the DPU's.
func (r *resourceReconciler) whose(
	ctx context.Context, resource *resourcev1.ManagedResource, report agents.Report, policy *networkfabricv1.FabricPolicy,
	control controlPlaneAddresses, a netip.Addr,
) (string, error) {
	ip := resourcev1.IPAddress(a.String())
	switch {
	case report.IsGateway(a):
		return "its gateway", nil
	case slices.Contains(control.routers, a):
		return "a router's", nil
	case slices.Contains(control.all, a):
		return "the control plane's", nil
	case overlay.IsShared(policy, a, overlay.Address(resource.Spec.DPUIPs[0])):
		return "in sharedServices of the FabricPolicy", nil
	}
	public, err := PublicIPsWith(ctx, r, ip)
	if err != nil {
		return "", err
	}
	if len(public) > 0 {
		return "a public address", nil
	}
	others, err := WithFabricIP(ctx, r, ip)
	if err != nil {
		return "", err
	}
	for i := range others {
		if slices.Contains(others[i].Spec.DPUIPs[1:], ip) || slices.Contains(membership.Reached(&others[i]), ip) {
			return "a host's", nil
		}
		if others[i].Spec.DPUIPs[0] != resource.Spec.DPUIPs[0] {
			return "another DPU's", nil
		}
	}
	return "", nil
}

// alarm if an agent reports as its DPU's own what can't be that: a mistake in an address, or an attack. No other host is harmed, but the
// operator has to check the DPU.
func alarm(resource *resourcev1.ManagedResource, foreign string) string {
	return fmt.Sprintf("the agent of DPU %s reports as the DPU's own address %s: check the addresses of the DPU and who controls it. Only the hosts behind this DPU are blocked from that address",
		resource.Spec.DPUIPs[0], foreign)
}
