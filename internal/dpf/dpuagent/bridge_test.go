package dpuagent

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
)

func (n *node) physical(name string) *svcv1.ServiceInterface {
	n.Helper()
	i := physical(name, name, 0)
	i.Namespace, i.CreationTimestamp, i.Spec.Node = "", metav1.Time{}, n.name
	n.made(i)
	return i
}

func (n *node) bridges() string { n.Helper(); return n.vsctl("list-br") }

// The bridge stays on a DPU whose components were removed, unless the agent takes it away with the last interface.
func TestBridge_goesWithTheLastInterfaceAndNotWithTheAgent(t *testing.T) {
	t.Parallel()
	n := bareNode(t)
	n.reconcile(nil)
	n.Expect(n.bridges()).To(BeEmpty())
	n.physical("p0")
	n.reconcile(nil)
	made := n.vsctl("get", "bridge", "br-sfc", "_uuid")
	n.reconcile(nil)
	n.Expect(n.vsctl("get", "bridge", "br-sfc", "_uuid")).To(Equal(made), "another agent keeps it")

	n.vsctl("add-port", "br-sfc", "pod", "--", "set", "interface", "pod", "type=internal") // as the CNI does
	n.deleteAll()
	n.reconcile(nil)
	n.Expect(n.vsctl("list-ports", "br-sfc")).To(Equal("pod"), "it has a port of others")
	n.vsctl("del-port", "pod")
	n.reconcile(nil)
	n.Expect(n.bridges()).To(BeEmpty())

	n.physical("p0")
	n.reconcile(nil)
	n.deleteAll()
	n.Expect(n.reconcile(&death{})).To(BeTrue(), "killed before it lets the interface go")
	n.Expect(n.bridges()).To(BeEmpty(), "by then the bridge is gone")
	n.reconcile(nil)
	n.Expect(n.api.Get(n.Context(), client.ObjectKey{Namespace: n.name, Name: "p0"}, &svcv1.ServiceInterface{})).NotTo(Succeed())

	n.vsctl("add-br", "br-sfc", "--", "set", "bridge", "br-sfc", "datapath_type=netdev")
	n.physical("p0")
	n.reconcile(nil)
	n.deleteAll()
	n.reconcile(nil)
	n.Expect(n.bridges()).To(Equal("br-sfc"), "others have made it")
	n.Expect(n.vsctl("list-ports", "br-sfc")).To(BeEmpty())
}

// A chain that is deleted after the bridge has gone holds nothing.
func TestChain_isLetGoWithoutABridge(t *testing.T) {
	t.Parallel()
	n := bareNode(t)
	c := chain("c", 0, "p0", "p1")
	c.Namespace, c.CreationTimestamp, c.Spec.Node = "", metav1.Time{}, n.name
	n.made(c)
	n.reconcile(nil)
	n.Expect(n.says(c)).To(HavePrefix("Pending no ServiceInterface of this node has the labels if=p0"))
	n.deleteAll()
	n.reconcile(nil)
	n.Expect(n.api.Get(n.Context(), client.ObjectKeyFromObject(c), c)).NotTo(Succeed())
}

func (n *node) says(o svcv1.Object) string {
	n.Helper()
	n.Expect(n.api.Get(n.Context(), client.ObjectKeyFromObject(o.(client.Object)), o.(client.Object))).To(Succeed())
	c := meta.FindStatusCondition(o.GetStatus().Conditions, svcv1.ReadyCondition)
	n.Expect(c).NotTo(BeNil())
	return c.Reason + " " + c.Message
}

// segments as Open vSwitch has them: the ports that a packet from each port goes to.
func (n *node) segments() map[string]string {
	n.Helper()
	snapshot, err := n.database.Snapshot()
	n.Expect(err).NotTo(HaveOccurred())
	numbers, _ := numbers(snapshot)
	names := map[string]string{}
	for name, number := range numbers {
		names[fmt.Sprint(number)] = name
	}
	dump, err := (&flows{program: "ovs-ofctl", dir: n.fabric.RunDir("dpu")}).dump(n.Context())
	n.Expect(err).NotTo(HaveOccurred())
	found, plugs := map[string]string{}, map[string]string{} // the latter by register 1
	for _, flow := range regexp.MustCompile(`in_port=(\w+) .*set_field:0x(\w+)->reg1`).FindAllStringSubmatch(dump, -1) {
		plugs[flow[2]] = names[flow[1]]
	}
	for _, flow := range regexp.MustCompile(`reg1=0x(\w+),.*actions=(.*)`).FindAllStringSubmatch(dump, -1) {
		var to []string
		for _, out := range strings.Split(flow[2], ",") {
			to = append(to, names[strings.TrimPrefix(out, "output:")])
		}
		found[plugs[flow[1]]] = strings.Join(to, " ")
	}
	n.Expect(found).NotTo(HaveKey(""), "%s", dump)
	return found
}

func TestChains_twentyAtOnceAndInterfacesThatMove(t *testing.T) {
	t.Parallel()
	n := bareNode(t)
	n.kind = "internal" // so that each has its device
	const many = 20
	var interfaces []*svcv1.ServiceInterface
	var chains []*svcv1.ServiceChain
	wanted := map[string]string{}
	for k := range many {
		a, b := fmt.Sprintf("a%d", k), fmt.Sprintf("b%d", k)
		interfaces = append(interfaces, n.physical(a), n.physical(b))
		c := chain(fmt.Sprintf("c%02d", k), 0, a, b)
		c.Namespace, c.CreationTimestamp, c.Spec.Node = "", metav1.Time{}, n.name
		n.made(c)
		chains = append(chains, c)
		wanted[a], wanted[b] = b, a
	}
	n.reconcile(nil)
	n.Expect(n.segments()).To(Equal(wanted))
	for _, c := range chains {
		n.Expect(n.says(c)).To(Equal("Success "))
	}

	t.Log("the labels of two interfaces are exchanged: each is in the other's chain")
	relabel := func(i *svcv1.ServiceInterface, label string) {
		n.Expect(n.api.Get(n.Context(), client.ObjectKeyFromObject(i), i)).To(Succeed())
		before := i.DeepCopy()
		i.Labels["if"] = label
		n.Expect(n.api.Patch(n.Context(), i, client.MergeFrom(before))).To(Succeed())
	}
	a0, a1 := interfaces[0], interfaces[2]
	relabel(a1, "b0")
	n.reconcile(nil)
	n.Expect(n.says(chains[0])).To(Equal("Failure ServiceInterfaces a1, b0 have the labels if=b0: only one may"))
	relabel(a1, "a0")
	relabel(a0, "a1")
	n.reconcile(nil)
	wanted["a0"], wanted["b1"], wanted["a1"], wanted["b0"] = "b1", "a0", "b0", "a1"
	n.Expect(n.segments()).To(Equal(wanted))
	for _, c := range chains {
		n.Expect(n.says(c)).To(Equal("Success "))
	}

	t.Log("a chain takes the ports of another one, which goes")
	thief := chain("d", 0, "a5", "b5", "a6")
	thief.Namespace, thief.CreationTimestamp, thief.Spec.Node = "", metav1.Time{}, n.name
	n.made(thief)
	n.reconcile(nil)
	n.Expect(n.segments()).To(Equal(wanted), "the older ones keep theirs")
	n.Expect(n.says(thief)).To(ContainSubstring("its port a5 is in switch 0 of ServiceChain " + n.name + "/c05 already"))
	n.Expect(n.api.Delete(n.Context(), chains[5])).To(Succeed())
	n.Expect(n.api.Delete(n.Context(), chains[6])).To(Succeed())
	n.reconcile(nil)
	wanted["a5"], wanted["b5"], wanted["a6"] = "b5 a6", "a5 a6", "a5 b5"
	delete(wanted, "b6")
	n.Expect(n.segments()).To(Equal(wanted))
	n.Expect(n.says(thief)).To(Equal("Success "))
}
