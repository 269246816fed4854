// Package webhook refuses DPFOperatorConfigs whose hosts get in each other's way. Rules of a CRD can't say that of 2,000 hosts: each would
// be compared with each.
package webhook

import (
	"context"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/validation"
)

// +kubebuilder:webhookconfiguration:mutating=false,name=bedplate-dpf-webhooks
// +kubebuilder:webhook:path=/validate-operator-dpu-nvidia-com-v1alpha1-dpfoperatorconfig,mutating=false,failurePolicy=fail,sideEffects=None,groups=operator.dpu.nvidia.com,resources=dpfoperatorconfigs,verbs=create;update,versions=v1alpha1,name=validation.dpfoperatorconfig.operator.dpu.nvidia.com,admissionReviewVersions=v1,serviceName=bedplate-dpf-webhooks,serviceNamespace=dpf-operator-system

// SetupWithManager registers the webhook with the manager's webhook server.
func SetupWithManager(mgr ctrl.Manager) error {
	return validation.Register(mgr, &operatorv1.DPFOperatorConfig{}, validation.Rules[*operatorv1.DPFOperatorConfig]{
		Created: func(_ context.Context, c *operatorv1.DPFOperatorConfig) field.ErrorList { return Problems(&c.Spec) },
		Updated: func(_ context.Context, before, after *operatorv1.DPFOperatorConfig) (field.ErrorList, error) {
			return append(validation.New(Problems(&before.Spec), Problems(&after.Spec)), Uprooted(before, after)...), nil
		},
	})
}

// maxProblems is how many are told at once: one misspelt prefix can be one for each of 2,000 hosts.
const maxProblems = 20

// Problems of hosts: names and IPs are each host's own, and no IP is one that a network has reserved. What the CRD refuses by itself is
// passed over.
func Problems(spec *operatorv1.DPFOperatorConfigSpec) (problems field.ErrorList) {
	if spec.HostNetworkConfiguration == nil {
		return nil
	}
	used := map[string]*field.Path{}
	gateways := map[netip.Addr]*field.Path{}
	own := func(kind, value string, path *field.Path) {
		if first, taken := used[kind+value]; taken {
			problems = append(problems, field.Invalid(path, value, fmt.Sprintf("%s has it: each host needs its own", first)))
			return
		}
		used[kind+value] = path
	}
	hosts := field.NewPath("spec", "hostNetworkConfiguration", "hosts")
	for i, host := range spec.HostNetworkConfiguration.Hosts {
		path := hosts.Index(i)
		own("host ", string(host.HostClusterNodeName), path.Child("hostClusterNodeName"))
		own("DPU ", string(host.DPUClusterNodeName), path.Child("dpuClusterNodeName"))
		gateway, err := netip.ParseAddr(host.Gateway)
		if err == nil {
			gateways[gateway] = path.Child("gateway")
		}
		for _, ip := range []struct {
			name string
			text operatorv1.AddressWithPrefix
		}{{"hostIP", host.HostIP}, {"dpuIP", host.DPUIP}} {
			prefix, err := netip.ParsePrefix(string(ip.text))
			if err != nil {
				continue
			}
			own("IP ", prefix.Addr().String(), path.Child(ip.name))
			if reserved(prefix.Addr(), prefix) {
				problems = append(problems, field.Invalid(path.Child(ip.name), ip.text, "no host can have this address of its network"))
			}
			if gateway.IsValid() && reserved(gateway, prefix) {
				problems = append(problems, field.Invalid(path.Child("gateway"), host.Gateway,
					"no host can have this address of the network of "+ip.name))
			}
		}
	}
	for gateway, path := range gateways {
		if host, taken := used["IP "+gateway.String()]; taken {
			problems = append(problems, field.Invalid(path, gateway.String(), fmt.Sprintf("%s has it: the gateway is another host", host)))
		}
	}
	return problems[:min(len(problems), maxProblems)]
}

// Uprooted is what nodes live by whose network is on their DPUs: a change would take it from all of them at once. Taken out of the spec they
// go back, one by one, and an entry that isn't there any more is no problem.
func Uprooted(before, after *operatorv1.DPFOperatorConfig) (problems field.ErrorList) {
	was, is := before.Spec.HostNetworkConfiguration, after.Spec.HostNetworkConfiguration
	moved := map[string]bool{}
	for _, node := range before.Status.Nodes {
		if node.Phase == operatorv1.NodeSwitching || node.Phase == operatorv1.NodeReady {
			moved[node.Name] = true
		}
	}
	if was == nil || is == nil || len(moved) == 0 {
		return nil
	}
	network := field.NewPath("spec", "hostNetworkConfiguration")
	for name, changed := range map[string]bool{
		"hostPF0": was.HostPF0 != is.HostPF0, "hostPF0VF0": was.HostPF0VF0 != is.HostPF0VF0, "CIDR": was.CIDR != is.CIDR,
	} {
		if changed {
			problems = append(problems, field.Forbidden(network.Child(name), fmt.Sprintf(
				"the network of %d nodes is moved with what it was: take hostNetworkConfiguration out first, so that they go back", len(moved))))
		}
	}
	former := map[operatorv1.NodeName]operatorv1.Host{}
	for _, host := range was.Hosts {
		former[host.HostClusterNodeName] = host
	}
	for i, host := range is.Hosts {
		name := host.HostClusterNodeName
		if old, listed := former[name]; listed && moved[string(name)] && old != host {
			problems = append(problems, field.Forbidden(network.Child("hosts").Index(i), fmt.Sprintf(
				"the network of node %s is moved with what it was: take its entry out first, so that it goes back", name)))
		}
	}
	return problems[:min(len(problems), maxProblems)]
}

// reserved says that an address is the network's own or its broadcast address, which only prefixes of at most 30 bits have (RFC 3021).
func reserved(address netip.Addr, network netip.Prefix) bool {
	if !address.Is4() || network.Bits() > 30 || !network.Contains(address) {
		return address.IsUnspecified() || address.IsMulticast() || address.IsLoopback()
	}
	if address == network.Masked().Addr() {
		return true
	}
	return !network.Contains(address.Next()) || address.IsUnspecified() || address.IsMulticast() || address.IsLoopback()
}
