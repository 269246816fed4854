package dpuagent

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
)

// address says why an interface doesn't get the address that a chain wants it to have. It isn't given here: the DPUService controller asks
// for it in the annotation of the service's pods, and NV-IPAM gives it to a pod that starts.
func (p *plan) address(i *svcv1.ServiceInterface) problem {
	if i.Spec.Service == nil {
		return failure("ServiceInterface %s is of the type %s, and only those of services get addresses: take ipam out",
			i.Name, i.Spec.InterfaceType)
	}
	pod := p.pods[client.ObjectKeyFromObject(i)]
	if pod == nil || asksForAddress(pod, i.Spec.Service.InterfaceName) {
		return problem{}
	}
	return pending("pod %s gets no address at %s: take the DPUServiceInterface into spec.interfaces of its DPUService, which starts new pods",
		pod.Name, i.Spec.Service.InterfaceName)
}

// asksForAddress reports whether a pod names a pool for an interface.
func asksForAddress(pod *corev1.Pod, name string) bool {
	type network struct {
		Interface string `json:"interface"`
		Args      struct {
			PoolNames []string `json:"poolNames"`
		} `json:"cni-args"`
	}
	var networks []network
	if json.Unmarshal([]byte(pod.Annotations[svcv1.NetworksAnnotation]), &networks) != nil {
		return false // in the short form no pool can be named
	}
	return slices.ContainsFunc(networks, func(n network) bool { return n.Interface == name && len(n.Args.PoolNames) > 0 })
}
