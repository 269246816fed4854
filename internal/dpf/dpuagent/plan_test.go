package dpuagent

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
)

func on(name string, spec svcv1.ServiceInterfaceSpec) *svcv1.ServiceInterface {
	return &svcv1.ServiceInterface{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"if": name}}, Spec: spec}
}

func onVLAN(name string, id int32) *svcv1.ServiceInterface {
	return on(name, svcv1.ServiceInterfaceSpec{InterfaceType: svcv1.InterfaceVLAN, VLAN: &svcv1.VLAN{VLANID: id, ParentInterfaceRef: "p0"}})
}

func physical(name, port string, age int64) *svcv1.ServiceInterface {
	i := on(name, svcv1.ServiceInterfaceSpec{InterfaceType: svcv1.InterfacePhysical, Physical: &svcv1.Physical{InterfaceName: port}})
	i.CreationTimestamp = metav1.Unix(-age, 0)
	return i
}

func chain(name string, age time.Duration, interfaces ...string) *svcv1.ServiceChain {
	c := &svcv1.ServiceChain{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(0, 0).Add(-age))}}
	s := svcv1.Switch{}
	for _, i := range interfaces {
		s.Ports = append(s.Ports, svcv1.Port{ServiceInterface: svcv1.ServiceIfc{MatchLabels: map[string]string{"if": i}}})
	}
	c.Spec.Switches = []svcv1.Switch{s}
	return c
}

func key(name string) client.ObjectKey { return client.ObjectKey{Namespace: "ns", Name: name} }

func TestPlanned_aPortIsInOneSwitch(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := objects{
		interfaces: []*svcv1.ServiceInterface{onVLAN("a", 1), onVLAN("b", 2), onVLAN("twin", 1),
			physical("p1", "p1", 0)},
		chains: []*svcv1.ServiceChain{chain("younger", time.Hour, "twin", "b"), chain("older", 2*time.Hour, "a", "p1"), chain("both", 0, "a", "b")},
	}
	p := planned(o, "", nil)
	g.Expect(p.segments).To(Equal([][]plug{{{"p0", 1}, {port: "p1"}}}), "the older one has its ports, and one port is no segment")
	g.Expect(p.chains[key("older")]).To(Equal(problem{}))
	g.Expect(p.chains[key("younger")].message).To(ContainSubstring("its port p0 is in switch 0 of ServiceChain ns/older already"))
	o.chains = []*svcv1.ServiceChain{chain("both", 0, "a", "b")}
	p = planned(o, "", nil)
	g.Expect(p.segments).To(BeEmpty())
	g.Expect(p.chains[key("both")].message).To(ContainSubstring("its port p0 is in this switch with another VLAN: use a switch for each"))
}

func TestPlanned_thePodOfAServiceThatStays(t *testing.T) {
	t.Parallel()
	pod := func(name, namespace string, created int64, deleted bool) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{svcv1.ServiceIDLabel: "s"}, CreationTimestamp: metav1.Unix(created, 0),
		}}
		if deleted {
			p.DeletionTimestamp = &p.CreationTimestamp
		}
		return p
	}
	found := func(id string) string {
		return map[string]string{"ns/old/e0": "v-old", "ns/new/e0": "v-new", "ns/gone/e0": "v-gone", "other/x/e0": "v-x"}[id]
	}
	i := on("i", svcv1.ServiceInterfaceSpec{InterfaceType: svcv1.InterfaceService, Service: &svcv1.ServiceDef{ServiceID: "s", InterfaceName: "e0"}})
	for _, row := range []struct {
		pods []corev1.Pod
		port string
	}{
		{[]corev1.Pod{pod("old", "ns", 1, false), pod("new", "ns", 2, false)}, "v-new"},
		{[]corev1.Pod{pod("old", "ns", 1, false), pod("gone", "ns", 3, true)}, "v-old"},
		{[]corev1.Pod{pod("gone", "ns", 3, true)}, "v-gone"},
		{[]corev1.Pod{pod("starts", "ns", 4, false), pod("old", "ns", 1, false)}, "v-old"},
		{[]corev1.Pod{pod("x", "other", 1, false)}, ""},
	} {
		p := planned(objects{interfaces: []*svcv1.ServiceInterface{i}, pods: row.pods}, "", found)
		NewWithT(t).Expect(p.plugs[key("i")].port).To(Equal(row.port))
		NewWithT(t).Expect(p.interfaces[key("i")] == problem{}).To(Equal(row.port != ""))
	}
}

// Interfaces come in any order from the cache. Of two that want a port in different ways it would be another one in each round.
func TestPlanned_aPortIsMadeInOneWay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ovn := on("ovn", svcv1.ServiceInterfaceSpec{InterfaceType: svcv1.InterfaceOVN})
	ovn.CreationTimestamp = metav1.Unix(0, 0)
	far, near := physical("far", "puplinkbrovn", 2), physical("near", "puplinkbrsfc", 1)
	for _, order := range [][]*svcv1.ServiceInterface{{ovn, near, far}, {far, near, ovn}, {near, ovn, far}} {
		p := planned(objects{interfaces: order}, "", nil)
		g.Expect(p.interfaces[key("ovn")].message).To(Equal("an older ServiceInterface has port puplinkbrovn on bridge br-sfc: name another one"))
		g.Expect(p.plugs).To(And(HaveKey(key("near")), HaveKey(key("far")), Not(HaveKey(key("ovn")))))
		g.Expect(p.ports).To(Equal(map[string]port{"puplinkbrovn": {bridge: Bridge}, "puplinkbrsfc": {bridge: Bridge}}))
	}
}

// The bridge's own port leads to the DPU, and a port of this name can't be made beside it: no port of the node could.
func TestPlanned_theBridgeIsNoInterface(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := planned(objects{interfaces: []*svcv1.ServiceInterface{
		physical("self", Bridge, 0), physical("other", "p0", 0),
		on("vlan", svcv1.ServiceInterfaceSpec{InterfaceType: svcv1.InterfaceVLAN, VLAN: &svcv1.VLAN{VLANID: 1, ParentInterfaceRef: Bridge}}),
		on("ovn", svcv1.ServiceInterfaceSpec{InterfaceType: svcv1.InterfaceOVN, OVN: &svcv1.OVN{ExternalBridge: Bridge}}),
	}}, "", nil)
	for _, name := range []string{"self", "vlan", "ovn"} {
		g.Expect(p.interfaces[key(name)].message).To(ContainSubstring("br-sfc is the bridge of chains itself"), name)
	}
	g.Expect(p.sortedPorts()).To(Equal([]string{"p0"}))
}

// What a chain's ipam asks for is in the annotation of pods that the DPUService controller has written, or the chain says why not.
func TestPlanned_addressesAreThoseOfPods(t *testing.T) {
	t.Parallel()
	c := chain("c", 0, "i")
	c.Spec.Switches[0].Ports[0].ServiceInterface.IPAM = &svcv1.IPAM{MatchLabels: map[string]string{"pool": "p"}}
	service := on("i", svcv1.ServiceInterfaceSpec{InterfaceType: svcv1.InterfaceService, Service: &svcv1.ServiceDef{ServiceID: "s", InterfaceName: "e0"}})
	for _, row := range []struct {
		i        *svcv1.ServiceInterface
		networks string
		says     string
	}{
		{service, `[{"name":"a","interface":"e0","cni-args":{"poolNames":["p"],"poolType":"ippool"}}]`, ""},
		{service, `[{"name":"a","interface":"e0"}]`, "pod p gets no address at e0"},
		{service, `[{"name":"a","interface":"e1","cni-args":{"poolNames":["p"]}}]`, "pod p gets no address at e0"},
		{service, `a@e0`, "pod p gets no address at e0"},
		{service, "", "pod p gets no address at e0"},
		{physical("i", "p0", 0), "", "ServiceInterface i is of the type physical, and only those of services get addresses"},
	} {
		g := NewWithT(t)
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Labels: map[string]string{svcv1.ServiceIDLabel: "s"},
			Annotations: map[string]string{svcv1.NetworksAnnotation: row.networks}}}
		p := planned(objects{interfaces: []*svcv1.ServiceInterface{row.i}, chains: []*svcv1.ServiceChain{c}, pods: []corev1.Pod{pod}}, "",
			func(string) string { return "veth" })
		reconciled, ready := p.ofChain(key("c"))
		g.Expect(reconciled).To(Equal(problem{}), "the port is in its switch nevertheless")
		g.Expect(ready.message).To(HavePrefix(row.says), row.networks)
		g.Expect(ready == problem{}).To(Equal(row.says == ""))
	}
}
