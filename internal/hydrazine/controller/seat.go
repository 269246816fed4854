package controller

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	agentv1 "github.com/bedplate/bedplate/api/hydrazine/agent/v1"
	resourcev1 "github.com/bedplate/bedplate/api/hydrazine/resource/v1alpha1"
	"github.com/bedplate/bedplate/internal/hydrazine/agents"
	"github.com/bedplate/bedplate/internal/hydrazine/membership"
	"github.com/bedplate/bedplate/internal/hydrazine/overlay"
	"github.com/bedplate/bedplate/internal/hydrazine/topology"
)

// seat is the port of the DPU that the host is behind, and what has to be known of it in the topology.
func seat(
	resource *resourcev1.ManagedResource, group *resourcev1.ResourceGroup, inGroup []resourcev1.ManagedResource, report agents.Report,
) (*agentv1.Port, *resourcev1.LogicalPortReference, string, error) {
	if other := namesake(resource, inGroup, report.GetChassis()); other != nil {
		return nil, nil, reasonInvalidReport, fmt.Errorf("DPU %s has the chassis name %s, and so has the DPU of ManagedResource %s at %s: "+
			"start one of the two agents with another --chassis", resource.Spec.DPUIPs[0], report.GetChassis(), other.Name,
			other.Status.LogicalPortReference.Agent)
	}
	port, err := hostPort(resource, report.GetPorts())
	if err != nil {
		return nil, nil, reasonNoPort, fmt.Errorf("DPU %s %w", report.GetChassis(), err)
	}
	reference := &resourcev1.LogicalPortReference{
		LogicalPort: topology.PortName(string(resource.UID), resource.Name), DPU: report.GetChassis(), Agent: resource.Spec.DPUIPs[0],
		GroupUID: group.UID,
	}
	if err := onUplink(reference, resource, group, report); err != nil {
		return nil, nil, reasonUplink, err
	}
	return port, reference, "", nil
}

// onUplink finds the networks of the DPU's uplink that the host's fabric addresses are in, and refuses addresses that no host can have there.
func onUplink(
	reference *resourcev1.LogicalPortReference, resource *resourcev1.ManagedResource, group *resourcev1.ResourceGroup, report agents.Report,
) error {
	own, other, third := overlay.Address(resource.Spec.DPUIPs[0]), overlay.DPUIP(resource, 1), overlay.DPUIP(resource, 2)
	owned := false
	for _, text := range report.GetUplink().GetAddresses() {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			continue // a report is checked when it comes
		}
		owned = owned || prefix.Addr() == own
		if other.IsValid() && prefix.Contains(other) {
			reference.FabricIP = resource.Spec.DPUIPs[1]
			reference.FabricPrefixLength = int32(prefix.Bits()) //nolint:gosec // at most 128
			reference.FabricGateway = gateway(report.GetUplink().GetGateways(), prefix)
		}
		if third.IsValid() && prefix.Contains(third) {
			reference.SecondFabricIP = resource.Spec.DPUIPs[2]
			reference.SecondFabricPrefixLength = int32(prefix.Bits()) //nolint:gosec // at most 128
			reference.SecondFabricGateway = gateway(report.GetUplink().GetGateways(), prefix)
		}
	}
	for _, ip := range []netip.Addr{other, third} {
		if why := unusable(ip, report); why != "" {
			return fmt.Errorf("%s is %s of DPU %s: replace it in dpuIPs", ip, why, report.GetChassis())
		}
	}
	uplink := fmt.Sprintf("the uplink of DPU %s has %s", report.GetChassis(), strings.Join(report.GetUplink().GetAddresses(), ", "))
	switch {
	case !owned:
		return fmt.Errorf("%s, and not %s: put the DPU's own address first in dpuIPs", uplink, own)
	case other.IsValid() && reference.FabricPrefixLength == 0:
		return fmt.Errorf("%s, so %s isn't in its network: replace the second of dpuIPs by an address in that network", uplink, other)
	case third.IsValid() && reference.SecondFabricPrefixLength == 0:
		return fmt.Errorf("%s, so %s isn't in its network: replace the third of dpuIPs by an address in that network", uplink, third)
	}
	seated := resource.DeepCopy()
	seated.Status.LogicalPortReference = reference
	if problem := overlay.Expressible(seated, group); problem.Reason != "" {
		return fmt.Errorf("%s: %s", uplink, problem.Message)
	}
	return nil
}

// unusable says which address of the host's DPU it is, if the host can't have it for that reason.
func unusable(ip netip.Addr, report agents.Report) string {
	for _, text := range report.GetUplink().GetAddresses() {
		prefix, err := netip.ParsePrefix(text)
		switch {
		case err != nil || !prefix.Contains(ip):
		case ip == prefix.Addr():
			return "an address"
		case prefix.IsSingleIP() || prefix.Bits() == ip.BitLen()-1:
		case ip == prefix.Masked().Addr():
			return "the network's own address at the uplink"
		case ip.Is4() && ip == membership.Last(prefix.Masked()):
			return "the broadcast address at the uplink"
		}
	}
	if report.IsGateway(ip) {
		return "the gateway"
	}
	return ""
}

// namesake is another member whose DPU has the same name: OVN would take both for one. An attached one stays.
func namesake(
	resource *resourcev1.ManagedResource, inGroup []resourcev1.ManagedResource, chassis string,
) *resourcev1.ManagedResource {
	own := resource.Status.LogicalPortReference
	has := own != nil && own.DPU == chassis && own.Agent == resource.Spec.DPUIPs[0]
	for i := range inGroup {
		other := &inGroup[i]
		at := other.Status.LogicalPortReference
		if other.UID == resource.UID || at == nil || at.DPU != chassis || at.Agent == resource.Spec.DPUIPs[0] {
			continue
		}
		if !has || membership.Older(other, resource) < 0 {
			return other
		}
	}
	return nil
}

// hostPort is the named one. Without a name it is the one that the host has, or the only one.
func hostPort(resource *resourcev1.ManagedResource, ports []*agentv1.Port) (*agentv1.Port, error) {
	name := resource.Spec.Identifier
	if port := portOf(resource, ports); port != nil && name == "" {
		return port, nil
	}
	names := make([]string, 0, len(ports))
	for _, port := range ports {
		if port.GetName() == name || name == "" && len(ports) == 1 {
			return port, nil
		}
		names = append(names, port.GetName())
	}
	switch {
	case len(ports) == 0:
		return nil, errors.New("has no port for a host: see how its agent is configured")
	case name == "":
		return nil, fmt.Errorf("has the ports %s: name the host's with identifier", strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("has no port %s, but %s: correct the identifier", name, strings.Join(names, ", "))
}

// gateway in a network.
func gateway(all []string, network netip.Prefix) resourcev1.IPAddress {
	for _, text := range all {
		if a, err := netip.ParseAddr(text); err == nil && network.Contains(a) && a.IsGlobalUnicast() {
			return resourcev1.IPAddress(a.String()) // canonical, as the API wants it
		}
	}
	return ""
}
