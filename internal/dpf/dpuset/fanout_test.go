package dpuset_test

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpuset"
	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/testenv"
)

// dpuCluster runs the controllers of a DPU cluster.
func dpuCluster(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, testenv.Client(t))
	f.run(testenv.Config(t), func(mgr ctrl.Manager) error {
		return dpuset.SetupFanOut(mgr, controller.Options{NewQueue: queue.New[reconcile.Request]}, dpuset.ChainSets, dpuset.InterfaceSets)
	})
	return f
}

// node of this test only, by its label.
func (f *fixture) node(name string) *corev1.Node {
	f.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.namespace + "-" + name, Labels: map[string]string{"test": f.namespace}}}
	f.Expect(f.Create(f.t.Context(), n)).To(Succeed())
	f.t.Cleanup(func() { _ = f.Delete(context.Background(), n) })
	return n
}

func (f *fixture) interfaceSet(name string) *svcv1.ServiceInterfaceSet {
	f.t.Helper()
	s := &svcv1.ServiceInterfaceSet{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}, Spec: svcv1.ServiceInterfaceSetSpec{
		NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"test": f.namespace}},
		Template: svcv1.ServiceInterfaceTemplate{
			Metadata: svcv1.Metadata{Labels: map[string]string{"l": "1"}},
			Spec: svcv1.ServiceInterfaceSpec{
				InterfaceType: svcv1.InterfaceService, Service: &svcv1.ServiceDef{ServiceID: "s", InterfaceName: "p0_if"},
			},
		},
	}}
	f.Expect(f.Create(f.t.Context(), s)).To(Succeed())
	return s
}

// interfaces by their nodes.
func (f *fixture) interfaces() map[string]*svcv1.ServiceInterface {
	f.t.Helper()
	var all svcv1.ServiceInterfaceList
	f.Expect(f.List(f.t.Context(), &all, client.InNamespace(f.namespace))).To(Succeed())
	found := map[string]*svcv1.ServiceInterface{}
	for i := range all.Items {
		found[strings.TrimPrefix(all.Items[i].Spec.Node, f.namespace+"-")] = &all.Items[i]
	}
	return found
}

func TestFanOut_followsNodes(t *testing.T) {
	t.Parallel()
	f := dpuCluster(t)
	set := f.interfaceSet("s")
	f.Eventually(f.ready(set)).Should(ContainSubstring("chooses no node"))
	f.node("a")
	b := f.node("b")
	f.Eventually(f.interfaces).Should(And(HaveLen(2), HaveKey("a"), HaveKey("b")))
	a := f.interfaces()["a"]
	f.Expect(a.Name).To(Equal("s-" + a.Spec.Node))
	f.Expect(a.Labels).To(Equal(map[string]string{"l": "1", svcv1.ServiceIDLabel: "s"}))
	f.Expect(metav1.IsControlledBy(a, set)).To(BeTrue())
	f.makeReady(f.Client, a)
	f.Eventually(f.ready(set)).Should(ContainSubstring("node " + f.namespace + "-b"))
	f.Eventually(func() int32 { f.ready(set)(); return set.Status.NumberReady }).Should(Equal(int32(1)))
	f.Expect(set.Status.NumberApplied).To(Equal(int32(2)))
	f.makeReady(f.Client, f.interfaces()["b"])
	f.Eventually(f.ready(set)).Should(Equal("True"))
	version := f.interfaces()["a"].ResourceVersion
	f.Consistently(func() string { return f.interfaces()["a"].ResourceVersion }, still).Should(Equal(version), "nothing is written in vain")

	f.change(set, func() { set.Spec.Template.Spec.Service.InterfaceName = "p1_if" })
	f.Eventually(func() string { return f.interfaces()["a"].Spec.Service.InterfaceName }).Should(Equal("p1_if"))
	f.Eventually(f.ready(set)).ShouldNot(Equal("True"), "the interfaces were ready as they were before")
	f.makeReady(f.Client, f.interfaces()["a"])

	f.change(b, func() { b.Labels = nil })
	f.Eventually(f.interfaces).ShouldNot(HaveKey("b"))
	f.Eventually(f.ready(set)).Should(Equal("True"))
	c := f.interfaces()["a"]
	f.Expect(f.Delete(t.Context(), c)).To(Succeed())
	f.Eventually(func() bool { now := f.interfaces()["a"]; return now != nil && now.UID != c.UID }).Should(BeTrue(), "it is made again")
}

// An interface whose agent is gone with its node would stay for ever.
func TestFanOut_letsGoWhatADeadNodeHas(t *testing.T) {
	t.Parallel()
	f := dpuCluster(t)
	set := f.interfaceSet("s")
	n := f.node("a")
	f.Eventually(f.interfaces).Should(HaveKey("a"))
	i := f.interfaces()["a"]
	f.change(i, func() { i.Finalizers = []string{svcv1.ServiceInterfaceFinalizer} })
	f.Expect(f.Delete(t.Context(), i)).To(Succeed())
	f.Consistently(f.interfaces, still).Should(HaveKey("a"), "its agent has to remove it")
	f.Expect(f.Delete(t.Context(), n)).To(Succeed())
	f.Eventually(f.interfaces).Should(BeEmpty())

	second := f.node("b")
	f.Eventually(f.interfaces).Should(HaveKey("b"))
	j := f.interfaces()["b"]
	f.change(j, func() { j.Finalizers = []string{svcv1.ServiceInterfaceFinalizer} })
	f.Expect(f.Delete(t.Context(), set)).To(Succeed())
	f.Expect(f.Delete(t.Context(), j)).To(Succeed()) // as Kubernetes does
	f.Expect(f.Delete(t.Context(), second)).To(Succeed())
	f.Eventually(f.interfaces).Should(BeEmpty(), "also of a set that is gone")
}

// A set that is gone says that nothing is left of it: the operator takes away the agents then, which would have to clean up.
func TestFanOut_aSetOutlivesWhatItHasMade(t *testing.T) {
	t.Parallel()
	f := dpuCluster(t)
	set := f.interfaceSet("s")
	node := f.node("a").Name
	f.Eventually(f.interfaces).Should(HaveKey("a"))
	i := f.interfaces()["a"]
	f.change(i, func() { i.Finalizers = []string{svcv1.ServiceInterfaceFinalizer} }) // as its agent does
	f.Expect(f.Delete(t.Context(), set)).To(Succeed())
	f.Eventually(f.ready(set)).Should(Equal("AwaitingDeletion: what it has made is still on node " + node))
	f.Eventually(func() bool { i := f.interfaces()["a"]; return i != nil && i.DeletionTimestamp != nil }).Should(BeTrue())
	f.Consistently(gone(t, f.Client, set), still).Should(BeFalse())
	f.change(i, func() { i.Finalizers = nil })
	f.Eventually(gone(t, f.Client, set)).Should(BeTrue())
	f.Expect(f.interfaces()).To(BeEmpty())
}

// A node that isn't chosen any more has its interface until the agent has removed it.
func TestFanOut_isntReconciledWhileANodeHasWhatItShouldnt(t *testing.T) {
	t.Parallel()
	f := dpuCluster(t)
	set := f.interfaceSet("s")
	f.node("a")
	b := f.node("b")
	f.Eventually(f.interfaces).Should(And(HaveKey("a"), HaveKey("b")))
	f.makeReady(f.Client, f.interfaces()["a"])
	f.makeReady(f.Client, f.interfaces()["b"])
	f.Eventually(f.ready(set)).Should(Equal("True"))
	i := f.interfaces()["b"]
	f.change(i, func() { i.Finalizers = []string{svcv1.ServiceInterfaceFinalizer} })
	f.change(set, func() {
		set.Spec.NodeSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "old", Operator: metav1.LabelSelectorOpDoesNotExist}}
	})
	f.change(b, func() { b.Labels["old"] = "" })
	reconciled := f.condition(set, svcv1.ServiceInterfacesReconciledCondition)
	f.Eventually(reconciled).Should(Equal("Pending: node " + b.Name))
	f.Consistently(f.ready(set), still).Should(Equal("Pending: node " + b.Name))
	f.Expect(set.Status.NumberApplied).To(Equal(int32(1)))
	f.change(i, func() { i.Finalizers = nil })
	f.Eventually(reconciled).Should(Equal("True"))
	f.Eventually(f.ready(set)).Should(Equal("True"))
}

// The chain of a set has the name SET-NODE, unless something else has it: "a" on node "b-c" and "a-b" on node "c" are two.
func TestFanOut_hasNamesThatDontCollide(t *testing.T) {
	t.Parallel()
	f := dpuCluster(t)
	node := f.node("x").Name
	chains := &svcv1.ServiceChainSet{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "s"}, Spec: svcv1.ServiceChainSetSpec{
		NodeSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"test": f.namespace}},
		Template:     svcv1.ServiceChainTemplate{Spec: f.chain("").Spec.Template.Spec.Template.Spec},
	}}
	other := &svcv1.ServiceChain{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "s-" + node},
		Spec: f.chain("").Spec.Template.Spec.Template.Spec}
	f.Expect(f.Create(t.Context(), other)).To(Succeed())
	f.Expect(f.Create(t.Context(), chains)).To(Succeed())
	f.Eventually(func() int32 { f.ready(chains)(); return chains.Status.NumberApplied }).Should(Equal(int32(1)))
	var all svcv1.ServiceChainList
	f.Expect(f.List(t.Context(), &all, client.InNamespace(f.namespace))).To(Succeed())
	f.Expect(all.Items).To(HaveLen(2))
	for i := range all.Items {
		if c := &all.Items[i]; c.Name != other.Name {
			f.Expect(c.Name).To(HavePrefix("s-" + node + "-"))
			f.Expect(c.Spec.Node).To(Equal(node))
		}
	}
}
