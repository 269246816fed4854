package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/testenv"
)

// twoSwitches is a chain of two services in one switch, and a third one with the host's function in another one.
func twoSwitches(t *testing.T) (*world, *ServiceChain) {
	t.Helper()
	w := newWorld(t, 4)
	for n, service := range []string{"a", "b", "c"} {
		w.pod(service, []string{"pf0hpf", "pf1hpf", "pf2hpf"}[n])
		w.service(service)
	}
	w.ifc("pf3", ServiceInterfaceSpec{InterfaceType: InterfacePF, PF: &PF{ID: ptr.To[int32](3)}})
	c := w.chain("chain", []string{"a", "b"}, []string{"c", "pf3"})
	w.start()
	return w, c
}

func TestChain_connectsThePortsOfASwitchAndNoOthers(t *testing.T) {
	t.Parallel()
	w, c := twoSwitches(t)
	w.untilReady(c)
	w.untilPings("h1", "h2")
	w.untilPings("h3", "h4")
	for _, other := range []string{"h3", "h4"} {
		w.Expect(w.pings("h1", ip(other))()).To(BeFalse(), other)
	}
	w.Expect(w.condition(c, ServiceChainReconciledCondition)).To(Equal("True Success"))
	w.Expect(w.vsctl("get", "bridge", "br-sfc", "fail_mode")).To(Equal("secure"))
	w.Expect(w.vsctl("get", "port", "pf0hpf", "external_ids")).To(Equal("{}"), "it is the CNI's")

	t.Log("a port moves to the other switch")
	before := c.DeepCopy()
	c.Spec.Switches = switchesOf([]string{"a"}, []string{"b", "c", "pf3"})
	w.Expect(w.Patch(t.Context(), c, client.MergeFrom(before))).To(Succeed())
	w.untilPings("h2", "h3")
	w.untilPings("h2", "h4")
	w.Expect(w.pings("h1", ip("h2"))()).To(BeFalse())

	t.Log("the chain goes, and then an interface")
	w.Expect(w.Delete(t.Context(), c)).To(Succeed())
	w.Eventually(func() bool { return apierrors.IsNotFound(w.Get(t.Context(), client.ObjectKeyFromObject(c), c)) }).WithTimeout(patience).Should(BeTrue())
	w.Expect(w.pings("h2", ip("h3"))()).To(BeFalse())
	w.Expect(w.ofctl("dump-flows")).NotTo(ContainSubstring("actions"))
	w.Expect(w.DeleteAllOf(t.Context(), &ServiceInterface{}, client.InNamespace(w.namespace))).To(Succeed())
	w.Eventually(func(g Gomega) {
		var left ServiceInterfaceList
		g.Expect(w.List(t.Context(), &left, client.InNamespace(w.namespace))).To(Succeed())
		g.Expect(left.Items).To(BeEmpty())
	}).WithTimeout(patience).Should(Succeed())
	w.Expect(w.vsctl("list-ports", "br-sfc")).To(Equal("pf0hpf\npf1hpf\npf2hpf"), "but not pf3hpf, which was made here")
}

func TestChain_comesBackWhateverIsWrecked(t *testing.T) {
	t.Parallel()
	w, c := twoSwitches(t)
	w.untilReady(c)
	w.untilPings("h3", "h4")
	pf3 := &ServiceInterface{}
	pf3.Name, pf3.Namespace = "pf3", w.namespace
	for _, row := range []struct {
		what  string
		wreck func()
	}{
		{"flows deleted", func() { w.ofctl("del-flows") }},
		{"a flow changed", func() { w.ofctl("mod-flows", "table=2,actions=drop") }},
		{"the port deleted", func() { w.vsctl("del-port", "pf3hpf") }},
		{"the port of another type", func() { w.vsctl("set", "interface", "pf3hpf", "type=internal") }},
		// ovs-vswitchd leaves it so if the type was put back while it still wrote that it can't have the other one.
		{"an error of before the repair", func() {
			w.vsctl("--no-wait", "set", "interface", "pf3hpf", "ofport=-1", `error="could not open network device"`)
		}},
		{"the bridge is a switch", func() { w.vsctl("set", "bridge", "br-sfc", "fail_mode=standalone") }},
	} {
		row.wreck()
		w.Eventually(func() bool {
			return w.pings("h3", ip("h4"))() && w.pings("h1", ip("h2"))() && !w.pings("h1", ip("h3"))()
		}).
			WithTimeout(patience).Should(BeTrue(), row.what)
		w.Eventually(func() string { return w.vsctl("get", "bridge", "br-sfc", "fail_mode") }).WithTimeout(patience).Should(Equal("secure"), row.what)
		w.untilReady(c, pf3)
	}
	t.Log("ovs-vswitchd is killed")
	again := make(chan error, 8)
	w.fabric.KeepSwitches(func(err error) { again <- err })
	w.in(dpu, "kill", "-9", w.in(dpu, "cat", w.dir("ovs-vswitchd.pid")))
	w.Eventually(again).WithTimeout(patience).Should(Receive())
	start := time.Now()
	w.untilPings("h3", "h4")
	t.Logf("forwards %.1f s after the start of the next one", time.Since(start).Seconds())
	w.untilPings("h1", "h2")
	w.Expect(w.pings("h1", ip("h3"))()).To(BeFalse())
}

// What ovs-vswitchd hasn't done yet when it dies, the next one does.
func TestChain_ovsVswitchdDiesInMidChange(t *testing.T) {
	t.Parallel()
	w, c := twoSwitches(t)
	w.untilReady(c)
	pid := w.in(dpu, "cat", w.dir("ovs-vswitchd.pid"))
	again := make(chan error, 8)
	w.fabric.KeepSwitches(func(err error) { again <- err })
	w.in(dpu, "kill", "-STOP", pid)
	w.Expect(w.Delete(t.Context(), c)).To(Succeed())
	more := w.ifc("more", physical("p0"))
	next := w.chain("next", []string{"a", "c"}, []string{"b", "pf3", "more"})
	w.Eventually(func() string { return w.vsctl("--no-wait", "list-ports", "br-sfc") }).WithTimeout(patience).Should(ContainSubstring("p0"))
	w.in(dpu, "kill", "-9", pid)
	w.Eventually(again).WithTimeout(patience).Should(Receive())
	w.untilReady(next, more)
	w.untilPings("h1", "h3")
	w.untilPings("h2", "h4")
	w.Expect(w.pings("h1", ip("h2"))()).To(BeFalse())
	w.Eventually(func() bool { return apierrors.IsNotFound(w.Get(t.Context(), client.ObjectKeyFromObject(c), c)) }).WithTimeout(patience).Should(BeTrue())
}

func TestInterfaces_ofEachType(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	w.vsctl("add-br", "br-ovn", "--", "set", "bridge", "br-ovn", "datapath_type=netdev", "--", "add-port", "br-ovn", "pf3hpf")
	w.start()
	all := []Object{
		w.ifc("ovn", ServiceInterfaceSpec{InterfaceType: InterfaceOVN}),
		w.ifc("p0", physical("p0")),
		w.ifc("red", vlan(7, "pf1hpf")),
		w.ifc("rest", physical("pf1hpf")),
		w.ifc("pf0", ServiceInterfaceSpec{InterfaceType: InterfacePF, PF: &PF{ID: ptr.To[int32](0)}}),
	}
	w.untilReady(all...)
	w.Expect(w.vsctl("list-ports", "br-sfc")).To(Equal("p0\npf0hpf\npf1hpf\npuplinkbrsfc"))
	w.Expect(w.vsctl("get", "interface", "puplinkbrovn", "options:peer")).To(Equal("puplinkbrsfc"))
	vf := w.ifc("vf", ServiceInterfaceSpec{InterfaceType: InterfaceVF, VF: &VF{PFID: ptr.To[int32](0), VFID: ptr.To[int32](5)}})
	w.Eventually(func() string { return w.condition(vf, ReadyCondition) }).WithTimeout(patience).Should(
		And(HavePrefix("False Failure Open vSwitch can't use port pf0vf5: "), ContainSubstring("No such device")))

	t.Log("a host reaches another one behind br-ovn")
	w.untilReady(w.chain("ovn", []string{"pf0", "ovn"}))
	w.untilPings("h1", "h4")
	t.Log("a VLAN of one port is another one's untagged network")
	w.ifc("pf2", physical("pf2hpf"))
	w.untilReady(w.chain("vlan", []string{"red", "pf2"}))
	w.Expect(w.untilArrives("h2", "h3", 7)).To(BeZero())
	w.Expect(w.untilArrives("h3", "h2", 0)).To(BeEquivalentTo(7))
	t.Log("tagged frames pass a segment unchanged")
	w.Expect(w.untilArrives("h1", "h4", 9)).To(BeEquivalentTo(9))
}

func TestStatus_namesWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.vsctl("add-br", "br-x", "--", "set", "bridge", "br-x", "datapath_type=netdev", "--", "add-port", "br-x", "pf1hpf")
	w.start()
	a := w.service("a")
	w.untilSays(a, "False Pending service a has no pod on this node in namespace "+w.namespace)
	ovn := w.ifc("ovn", ServiceInterfaceSpec{InterfaceType: InterfaceOVN})
	w.untilSays(ovn, "False Pending there is no bridge br-ovn on this node")
	taken := w.ifc("taken", physical("pf1hpf"))
	w.untilSays(taken, "False Failure port pf1hpf is on bridge br-x: take it off there, it belongs on br-sfc")
	c := w.chain("c", []string{"a", "none"})
	w.untilSays(c, "False Pending no ServiceInterface of this node has the labels if=none: create it")
	none := w.ifc("none", physical("p0"))
	w.untilSays(c, "False Pending ServiceInterface a: service a has no pod on this node in namespace "+w.namespace)
	w.Expect(w.condition(c, ServiceChainReconciledCondition)).To(Equal("True Success"))
	pod := w.pod("a", "pf0hpf")
	w.untilReady(a, c)
	w.vsctl("del-port", "pf0hpf")
	w.untilSays(a, "False Pending pod "+pod.Name+" has no interface net1 on bridge br-sfc: see its annotation k8s.v1.cni.cncf.io/networks")
	second := w.chain("d", []string{"none", "taken"})
	w.untilSays(second, "False Failure ServiceInterface none: its port p0 is in switch 0 of ServiceChain "+w.namespace+"/c already: take it out of one of them")
	twin := w.ifc("twin", physical("p1"))
	w.Expect(w.Get(t.Context(), client.ObjectKeyFromObject(twin), twin)).To(Succeed())
	before := twin.DeepCopy()
	twin.Labels = none.Labels
	w.Expect(w.Patch(t.Context(), twin, client.MergeFrom(before))).To(Succeed())
	w.untilSays(c, "False Failure ServiceInterfaces none, twin have the labels if=none: only one may")
}

// Interfaces and chains are two components of one program: each process makes its part, with the rights of its chart.
func TestAgent_asTwoComponentsWithTheRightsOfTheirCharts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	a, b := w.ifc("a", physical("pf0hpf")), w.ifc("b", physical("pf1hpf"))
	c := w.chain("c", []string{"a", "b"})
	w.startAs("chains", testenv.ChartKubeconfig(t, "dpf-servicechain", w.namespace), "--controllers=chains")
	w.Eventually(func() string { return w.condition(c, ReadyCondition) }).WithTimeout(patience).Should(HavePrefix("False "))
	w.startAs("interfaces", testenv.ChartKubeconfig(t, "dpf-serviceinterface", w.namespace), "--controllers=interfaces")
	w.untilReady(a, b, c)
	w.untilPings("h1", "h2")
	w.Expect(w.Delete(t.Context(), a)).To(Succeed())
	w.untilSays(c, "False Pending no ServiceInterface of this node has the labels if=a: create it")
	w.Eventually(func() string { return w.vsctl("list-ports", "br-sfc") }).WithTimeout(patience).Should(Equal("pf1hpf"))
	w.Expect(w.Delete(t.Context(), c)).To(Succeed())
	w.Eventually(func() bool { return apierrors.IsNotFound(w.Get(t.Context(), client.ObjectKeyFromObject(c), c)) }).WithTimeout(patience).Should(BeTrue())
}

// Another node's objects are another agent's, and so are their finalizers.
func TestAgent_leavesOtherNodesObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.start()
	other := &ServiceInterface{Spec: physical("p9")}
	other.Name, other.Spec.Node = "other", "other"
	w.made(other)
	w.untilReady(w.ifc("own", physical("pf0hpf")))
	w.Expect(w.Get(t.Context(), client.ObjectKeyFromObject(other), other)).To(Succeed())
	w.Expect(other.Finalizers).To(BeEmpty())
	w.Expect(other.Status.Conditions).To(BeEmpty())
	w.Expect(w.vsctl("list-ports", "br-sfc")).To(Equal("pf0hpf"))
}

func TestAgent_saysThatOpenVSwitchIsAwayButNotForAMoment(t *testing.T) {
	t.Parallel()
	w, c := twoSwitches(t)
	w.untilReady(c)
	w.in(dpu, "kill", "-STOP", w.in(dpu, "cat", w.dir("ovs-vswitchd.pid")))
	w.Eventually(func() string { return w.condition(c, ReadyCondition) }).WithTimeout(2 * patience).Should(HavePrefix("False Error "))
	w.in(dpu, "kill", "-CONT", w.in(dpu, "cat", w.dir("ovs-vswitchd.pid")))
	w.untilReady(c)
}

// Whenever the agent is killed, the next one goes on: no port stays that isn't wanted, and the chain is whole.
func TestAgent_killedAtAnyMoment(t *testing.T) {
	t.Parallel()
	w, c := twoSwitches(t)
	w.untilReady(c)
	for round := range 16 {
		switchOff := round%2 == 0
		if switchOff {
			w.Expect(w.Delete(t.Context(), c)).To(Succeed())
		} else {
			c = w.chain("chain", []string{"a", "b"}, []string{"c", "pf3"})
			w.ifc("more", physical("p0"))
		}
		time.Sleep(time.Duration(round) * 3 * time.Millisecond)
		w.Expect(syscall.Kill(w.agent.PID(), syscall.SIGKILL)).To(Succeed())
		<-w.agent.Done()
		if !switchOff {
			i := &ServiceInterface{}
			i.Name, i.Namespace = "more", w.namespace
			w.Expect(w.Delete(t.Context(), i)).To(Succeed())
		}
		w.start()
		if switchOff {
			w.Eventually(func() bool { return apierrors.IsNotFound(w.Get(t.Context(), client.ObjectKeyFromObject(c), c)) }).
				WithTimeout(patience).Should(BeTrue(), "round %d", round)
			w.Expect(w.ofctl("dump-flows")).NotTo(ContainSubstring("actions"), "round %d", round)
			continue
		}
		w.untilReady(c)
		w.untilPings("h3", "h4")
		w.Expect(w.pings("h1", ip("h3"))()).To(BeFalse())
		w.Eventually(func() string { return w.vsctl("list-ports", "br-sfc") }).WithTimeout(patience).Should(Equal("pf0hpf\npf1hpf\npf2hpf\npf3hpf"))
	}
}

func TestAgent_writesNothingAtRest(t *testing.T) {
	t.Parallel()
	w, c := twoSwitches(t)
	w.untilReady(c)
	w.untilPings("h1", "h2")
	version, written := c.ResourceVersion, w.vsctl("get", "open", ".", "next_cfg")
	flows := func() string {
		return strings.Join(strings.Fields(w.ofctl("dump-flows", "--no-stats", "cookie=0xbedd000000000000/-1")), " ")
	}
	before := flows()
	w.Consistently(func(g Gomega) {
		g.Expect(w.Get(t.Context(), client.ObjectKeyFromObject(c), c)).To(Succeed())
		g.Expect(c.ResourceVersion).To(Equal(version))
		g.Expect(w.vsctl("--no-wait", "get", "open", ".", "next_cfg")).To(Equal(written))
		g.Expect(flows()).To(Equal(before))
	}).WithTimeout(3 * time.Second).WithPolling(500 * time.Millisecond).Should(Succeed())
	t.Log(w.in(dpu, "grep", "VmRSS", fmt.Sprintf("/proc/%d/status", w.agent.PID())))
}
