package dpuagent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
)

// problem keeps an object from being real. The zero value is none.
type problem struct{ reason, message string }

func pending(format string, args ...any) problem {
	return problem{svcv1.ReasonPending, fmt.Sprintf(format, args...)}
}

func failure(format string, args ...any) problem {
	return problem{svcv1.ReasonFailure, fmt.Sprintf(format, args...)}
}

// objects of one node. Those that are being deleted are wanted no more.
type objects struct {
	interfaces []*svcv1.ServiceInterface
	chains     []*svcv1.ServiceChain
	pods       []corev1.Pod // of services
}

// plug is a ServiceInterface on the bridge: a port, or one VLAN of it.
type plug struct {
	port string
	vlan int32 // 0: all that isn't in a VLAN of another plug
}

// port that is made where it doesn't exist.
type port struct {
	bridge, kind string
	options      map[string]string
}

// plan is what the objects of a node want.
type plan struct {
	ports    map[string]port                         // by name
	plugs    map[client.ObjectKey]plug               // of ServiceInterfaces
	pods     map[client.ObjectKey]*corev1.Pod        // of ServiceInterfaces of services
	segments [][]plug                                // each of at least two
	members  map[client.ObjectKey][]client.ObjectKey // ServiceInterfaces of ServiceChains
	// problems of ServiceInterfaces, and of ServiceChains.
	interfaces, chains map[client.ObjectKey]problem
	addresses          map[client.ObjectKey]problem // of interfaces that ServiceChains give addresses to
	waiting            map[string]problem           // of ports that Open vSwitch doesn't forward for yet
}

// planned of the objects. found tells which port of the bridge the CNI has made for an interface of a pod.
func planned(o objects, kind string, found func(id string) string) plan {
	p := plan{
		ports: map[string]port{}, plugs: map[client.ObjectKey]plug{}, members: map[client.ObjectKey][]client.ObjectKey{},
		interfaces: map[client.ObjectKey]problem{}, chains: map[client.ObjectKey]problem{},
		pods: map[client.ObjectKey]*corev1.Pod{}, addresses: map[client.ObjectKey]problem{},
	}
	for _, i := range byAge(o.interfaces) {
		if !i.DeletionTimestamp.IsZero() {
			continue
		}
		key := client.ObjectKeyFromObject(i)
		at := plug{}
		if i.Spec.InterfaceType == svcv1.InterfaceService {
			at.port, p.pods[key], p.interfaces[key] = o.service(i, found)
		} else {
			at, p.interfaces[key] = p.own(i.Spec, kind)
		}
		if p.interfaces[key] == (problem{}) {
			p.plugs[key] = at
		}
	}
	in := map[plug]string{} // the chain that each is in
	for _, c := range byAge(o.chains) {
		if c.DeletionTimestamp.IsZero() {
			p.chain(o, c, in)
		}
	}
	return p
}

// own plug of an interface whose port is ours to make.
func (p *plan) own(spec svcv1.ServiceInterfaceSpec, kind string) (at plug, wrong problem) {
	switch spec.InterfaceType {
	case svcv1.InterfacePhysical:
		at.port = spec.Physical.InterfaceName
	case svcv1.InterfaceVLAN:
		at = plug{spec.VLAN.ParentInterfaceRef, spec.VLAN.VLANID}
	case svcv1.InterfacePF: // representors have these names on BlueField
		at.port = fmt.Sprintf("pf%dhpf", *spec.PF.ID)
	case svcv1.InterfaceVF:
		at.port = fmt.Sprintf("pf%dvf%d", *spec.VF.PFID, *spec.VF.VFID)
	case svcv1.InterfaceOVN:
		bridge := DefaultOVNBridge
		if spec.OVN != nil {
			bridge = cmp.Or(spec.OVN.ExternalBridge, bridge)
		}
		if bridge == Bridge {
			return at, itself
		}
		near, far := patchPorts(bridge)
		return plug{port: near}, p.make(map[string]port{
			near: {Bridge, patchKind, map[string]string{"peer": far}}, far: {bridge, patchKind, map[string]string{"peer": near}},
		})
	}
	if at.port == Bridge { // its own port leads to the DPU
		return at, itself
	}
	return at, p.make(map[string]port{at.port: {bridge: Bridge, kind: kind}})
}

var itself = failure("%s is the bridge of chains itself: name something else", Bridge)

// make all of these ports, or none: an older ServiceInterface may want one of them to be something else.
func (p *plan) make(ports map[string]port) problem {
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		had, taken := p.ports[name]
		want := ports[name]
		if taken && (had.bridge != want.bridge || had.kind != want.kind || !maps.Equal(had.options, want.options)) {
			return failure("an older ServiceInterface has port %s on bridge %s: name another one", name, had.bridge)
		}
	}
	maps.Copy(p.ports, ports)
	return problem{}
}

// patchPorts between the bridge of chains and ovn-kubernetes'. The names at br-ovn are those that its gateway options have.
func patchPorts(bridge string) (near, far string) {
	if bridge == DefaultOVNBridge {
		return "puplinkbrsfc", "puplinkbrovn"
	}
	return "psfc-" + hash(bridge), "povn-" + hash(bridge)
}

// service finds the port that the CNI has made for a pod: it writes the pod's namespace, name and interface beside it.
func (o objects) service(i *svcv1.ServiceInterface, found func(id string) string) (string, *corev1.Pod, problem) {
	pods := slices.DeleteFunc(slices.Clone(o.pods), func(pod corev1.Pod) bool {
		return pod.Namespace != i.Namespace || pod.Labels[svcv1.ServiceIDLabel] != i.Spec.Service.ServiceID
	})
	if len(pods) == 0 {
		return "", nil, pending("service %s has no pod on this node in namespace %s", i.Spec.Service.ServiceID, i.Namespace)
	}
	// Of two in a rolling update the one that stays, and of these the newer one.
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		if gone := a.DeletionTimestamp != nil; gone != (b.DeletionTimestamp != nil) {
			if gone {
				return 1
			}
			return -1
		}
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	for n := range pods {
		if name := found(keyOf(&pods[n]) + "/" + i.Spec.Service.InterfaceName); name != "" {
			return name, &pods[n], problem{}
		}
	}
	return "", nil, pending("pod %s has no interface %s on bridge %s: see its annotation k8s.v1.cni.cncf.io/networks",
		pods[0].Name, i.Spec.Service.InterfaceName, Bridge)
}

// chain adds the segments of a chain, with the ports that are known. A port that is in another switch stays there.
func (p *plan) chain(o objects, c *svcv1.ServiceChain, in map[plug]string) {
	key := client.ObjectKeyFromObject(c)
	for n, s := range c.Spec.Switches {
		var segment []plug
		for _, each := range s.Ports {
			i, wrong := o.choose(c, each.ServiceInterface.MatchLabels)
			if wrong == (problem{}) {
				member := client.ObjectKeyFromObject(i)
				p.members[key] = append(p.members[key], member)
				wrong = p.join(&segment, member, fmt.Sprintf("switch %d of ServiceChain %s", n, key), in)
				if each.ServiceInterface.IPAM != nil && p.addresses[key] == (problem{}) {
					p.addresses[key] = p.address(i)
				}
			}
			if p.chains[key] == (problem{}) {
				p.chains[key] = wrong
			}
		}
		if len(segment) > 1 {
			p.segments = append(p.segments, segment)
		}
	}
}

// join a segment, unless the interface has no port yet.
func (p *plan) join(segment *[]plug, i client.ObjectKey, where string, in map[plug]string) problem {
	at, ok := p.plugs[i]
	if !ok {
		return problem{}
	}
	if other, taken := in[at]; taken {
		return failure("ServiceInterface %s: its port %s is in %s already: take it out of one of them", i.Name, at.port, other)
	}
	if slices.ContainsFunc(*segment, func(other plug) bool { return other.port == at.port }) {
		return failure("ServiceInterface %s: its port %s is in this switch with another VLAN: use a switch for each", i.Name, at.port)
	}
	in[at] = where
	*segment = append(*segment, at)
	return problem{}
}

// choose the one ServiceInterface of a node that has the labels.
func (o objects) choose(c *svcv1.ServiceChain, matchLabels map[string]string) (chosen *svcv1.ServiceInterface, _ problem) {
	selector := labels.SelectorFromSet(matchLabels)
	var names []string
	for _, i := range o.interfaces {
		if i.Namespace == c.Namespace && i.DeletionTimestamp.IsZero() && selector.Matches(labels.Set(i.Labels)) {
			names, chosen = append(names, i.Name), i
		}
	}
	switch len(names) {
	case 0:
		return nil, pending("no ServiceInterface of this node has the labels %s: create it", selector)
	case 1:
		return chosen, problem{}
	}
	slices.Sort(names)
	return nil, failure("ServiceInterfaces %s have the labels %s: only one may", strings.Join(names, ", "), selector)
}

// byAge so that an older object keeps its ports.
func byAge[T metav1.Object](objects []T) []T {
	return slices.SortedFunc(slices.Values(objects), func(a, b T) int {
		return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), strings.Compare(keyOf(a), keyOf(b)))
	})
}

func keyOf(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// sortedPorts are the names of the ports that are to be there.
func (p plan) sortedPorts() []string { return slices.Sorted(maps.Keys(p.ports)) }

// empty: no interface wants anything of this node.
func (p plan) empty() bool { return len(p.interfaces) == 0 }
