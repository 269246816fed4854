package dpuset_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpuset"
	"github.com/bedplate/bedplate/internal/dpf/sim/kamaji"
	"github.com/bedplate/bedplate/internal/testenv"
)

func (f *fixture) chain(name string) *svcv1.DPUServiceChain {
	c := &svcv1.DPUServiceChain{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	c.Spec.Template.Metadata.Labels = map[string]string{"l": "1"}
	c.Spec.Template.Spec.Template.Spec.Switches = []svcv1.Switch{{Ports: []svcv1.Port{
		{ServiceInterface: svcv1.ServiceIfc{MatchLabels: map[string]string{"a": "b"}}},
	}}}
	return c
}

func (f *fixture) ifc(name string) *svcv1.DPUServiceInterface {
	i := &svcv1.DPUServiceInterface{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	i.Spec.Template.Spec.Template.Spec = svcv1.ServiceInterfaceSpec{
		InterfaceType: svcv1.InterfaceService, Service: &svcv1.ServiceDef{ServiceID: "s", InterfaceName: "p0_if"},
	}
	return i
}

// The peer ignores clusterSelector, and stops at a cluster that doesn't answer.
func TestChain_isWhereItsSelectorSays(t *testing.T) {
	t.Parallel()
	f := host(t)
	dpu := testenv.Another(t, "dpf/crd/bases")
	chain := f.chain("c")
	chain.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"place": "here"}}
	f.Expect(f.Create(t.Context(), chain)).To(Succeed())
	f.Eventually(f.ready(chain)).Should(ContainSubstring("chooses no DPU cluster"), "the peer says Ready")
	f.cluster("a", "here", dpu.Kubeconfig)
	f.cluster("b", "there", itself(t))
	f.cluster("never", "nowhere", []byte("no kubeconfig"))
	set := func() *svcv1.ServiceChainSet {
		return &svcv1.ServiceChainSet{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "c"}}
	}
	f.Eventually(gone(t, dpu.Client, set())).Should(BeFalse())
	f.Eventually(f.ready(chain)).Should(ContainSubstring("/a: its controller hasn't looked at it yet"))
	f.Expect(gone(t, f.Client, set())()).To(BeTrue(), "b isn't chosen")
	made := set()
	f.makeReady(dpu.Client, made)
	f.Eventually(f.ready(chain)).Should(Equal("True"))
	f.Expect(made.Labels).To(Equal(map[string]string{"l": "1"}))
	f.Expect(made.Spec).To(Equal(chain.Spec.Template.Spec))
	version := made.ResourceVersion
	f.Consistently(func() string { f.Expect(gone(t, dpu.Client, made)()).To(BeFalse()); return made.ResourceVersion },
		still).Should(Equal(version))

	f.change(chain, func() {
		chain.Spec.Template.Metadata.Labels = map[string]string{"l": "2"}
		chain.Spec.Template.Spec.Template.Spec.Switches[0].Ports[0].ServiceInterface.MatchLabels["a"] = "c"
	})
	f.Eventually(f.ready(chain)).Should(ContainSubstring("its controller hasn't looked at it yet"), "the condition is about the spec before")
	f.makeReady(dpu.Client, made)
	f.Eventually(f.ready(chain)).Should(Equal("True"))
	f.Expect(made.Labels).To(Equal(map[string]string{"l": "2"}))

	resume := dpu.Suspend(t)
	f.change(chain, func() {
		chain.Spec.Template.Metadata.Labels = map[string]string{"l": "3"} // so that a has to be written, too
		chain.Spec.ClusterSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "place", Operator: metav1.LabelSelectorOpIn, Values: []string{"here", "there"}},
		}}
	})
	f.Eventually(gone(t, f.Client, set())).Should(BeFalse(), "b gets it, though a doesn't answer")
	f.Eventually(f.condition(chain, svcv1.ServiceChainSetReconciledCondition)).Should(ContainSubstring("/a: "))
	resume()
	f.makeReady(f.Client, set())
	f.Eventually(f.ready(chain)).Should(Equal("True"))

	f.change(chain, func() {
		chain.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"place": "there"}}
	})
	f.Eventually(gone(t, dpu.Client, set())).Should(BeTrue(), "a isn't chosen any more")
	f.Eventually(f.ready(chain)).Should(Equal("True"))
	f.Expect(chain.Status.Clusters).To(ConsistOf(f.namespace + "/b"))
	f.Expect(f.Delete(t.Context(), chain)).To(Succeed())
	f.Eventually(gone(t, f.Client, chain)).Should(BeTrue(), "the cluster that has never had it doesn't matter")
	f.Expect(gone(t, f.Client, set())()).To(BeTrue())
}

func TestDeletion_waitsForAClusterAndCanBeAbandoned(t *testing.T) {
	t.Parallel()
	f := host(t)
	dpu := testenv.Another(t, "dpf/crd/bases")
	f.cluster("a", "here", dpu.Kubeconfig)
	ifc, foreign := f.ifc("i"), f.ifc("foreign")
	theirs := &svcv1.ServiceInterfaceSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}}
	foreign.Spec.Template.Spec.DeepCopyInto(&theirs.Spec)
	f.Expect(dpu.Client.Create(t.Context(), theirs)).To(Succeed())
	f.Expect(f.Create(t.Context(), ifc)).To(Succeed())
	made := &svcv1.ServiceInterfaceSet{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "i"}}
	f.Eventually(gone(t, dpu.Client, made)).Should(BeFalse())
	foreign.Name = "foreign"
	theirs = &svcv1.ServiceInterfaceSet{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "foreign"}, Spec: theirs.Spec}
	f.Expect(dpu.Client.Create(t.Context(), theirs)).To(Succeed())
	f.Expect(f.Create(t.Context(), foreign)).To(Succeed())
	f.Eventually(f.ready(foreign)).Should(ContainSubstring("wasn't made of this object"))
	f.Expect(f.Delete(t.Context(), foreign)).To(Succeed())
	f.Eventually(gone(t, f.Client, foreign)).Should(BeTrue())
	f.Expect(gone(t, dpu.Client, theirs)()).To(BeFalse(), "it isn't ours")

	f.change(ifc, func() {
		ifc.Annotations = map[string]string{svcv1.UsedByAnnotation: "s"}
		ifc.Finalizers = append(ifc.Finalizers, svcv1.InUseFinalizer)
	})
	f.Expect(f.Delete(t.Context(), ifc)).To(Succeed())
	f.Eventually(f.ready(ifc)).Should(ContainSubstring("DPUService s has it"))
	f.Consistently(gone(t, dpu.Client, made), still).Should(BeFalse(), "it is in use")
	dpu.Stop()
	f.change(ifc, func() { ifc.Finalizers = []string{svcv1.DPUServiceInterfaceFinalizer} })
	f.Eventually(f.ready(ifc)).Should(And(HavePrefix("AwaitingDeletion: "), ContainSubstring("/a: "),
		ContainSubstring(svcv1.AbandonAnnotation)))
	f.change(ifc, func() { ifc.Annotations[svcv1.AbandonAnnotation] = "true" })
	f.Eventually(gone(t, f.Client, ifc)).Should(BeTrue())
}

// What is there stays as it is, and can be deleted once an administrator allows it again, or be abandoned.
func TestChain_ofAClusterThatIsntAllowedAnyMore(t *testing.T) {
	t.Parallel()
	f := host(t)
	f.cluster("a", "here", itself(t))
	chain, made := f.chain("c"), &svcv1.ServiceChainSet{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "c"}}
	f.Expect(f.Create(t.Context(), chain)).To(Succeed())
	f.makeReady(f.Client, made)
	f.Eventually(f.ready(chain)).Should(Equal("True"))
	kamaji.Allow(t, f.Client, f.namespace, false)
	says := And(ContainSubstring("chooses no DPU cluster"),
		ContainSubstring("/a: an administrator has to allow DPU clusters in its namespace: kubectl label namespace "+f.namespace))
	f.Eventually(f.ready(chain)).Should(says)
	f.change(chain, func() { chain.Spec.Template.Metadata.Labels = map[string]string{"l": "2"} })
	f.Eventually(f.ready(chain)).Should(says)
	f.Consistently(func() map[string]string {
		f.Expect(gone(t, f.Client, made)()).To(BeFalse())
		return made.Labels
	}, still).Should(Equal(map[string]string{"l": "1"}))
	f.Expect(chain.Status.Clusters).To(ConsistOf(f.namespace + "/a"))

	f.Expect(f.Delete(t.Context(), chain)).To(Succeed())
	f.Eventually(f.ready(chain)).Should(And(HavePrefix("AwaitingDeletion: "), ContainSubstring("/a: an administrator has to allow"),
		ContainSubstring(svcv1.AbandonAnnotation)))
	f.Consistently(gone(t, f.Client, made), still).Should(BeFalse())
	kamaji.Allow(t, f.Client, f.namespace, true)
	f.Eventually(gone(t, f.Client, chain)).Should(BeTrue())
	f.Expect(gone(t, f.Client, made)()).To(BeTrue())
}

func TestIPAM_becomesAPool(t *testing.T) {
	t.Parallel()
	f := host(t)
	dpu := testenv.Another(t, "dpf/crd/bases")
	f.cluster("a", "here", dpu.Kubeconfig)
	network := &svcv1.DPUServiceIPAM{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "n"}, Spec: svcv1.DPUServiceIPAMSpec{
		Metadata: svcv1.Metadata{Labels: map[string]string{"pool": "n"}},
		IPV4Network: &svcv1.IPV4Network{
			Network: "10.0.0.0/16", PrefixSize: 24, GatewayIndex: ptr.To[int32](1), Exclusions: []svcv1.IPv4{"10.0.0.9"},
			Allocations: map[string]svcv1.IPv4CIDR{"b": "10.0.2.0/24", "a": "10.0.1.0/24"}, Routes: []svcv1.Route{{Dst: "10.1.0.0/16"}},
		},
	}}
	subnet := &svcv1.DPUServiceIPAM{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "s"}, Spec: svcv1.DPUServiceIPAMSpec{
		IPV4Subnet: &svcv1.IPV4Subnet{Subnet: "10.2.0.0/24", Gateway: "10.2.0.1", PerNodeIPCount: 8, DefaultGateway: true},
	}}
	f.Expect(f.Create(t.Context(), network)).To(Succeed())
	f.Expect(f.Create(t.Context(), subnet)).To(Succeed())
	f.Eventually(f.ready(network)).Should(ContainSubstring("doesn't know the kind yet"))
	testenv.AddCRDs(t, dpu.Config, "../charts/dpf-serviceipamset/crds/nv-ipam.yaml")

	pool := func(o *svcv1.DPUServiceIPAM) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(dpuset.CIDRPoolKind)
		if o == subnet {
			u.SetGroupVersionKind(dpuset.IPPoolKind)
		}
		u.SetNamespace(operatorv1.Namespace) // the one that NV-IPAM reads
		u.SetName(dpuset.PoolKey(o).Name)
		return u
	}
	cidrs, ips := pool(network), pool(subnet)
	f.Expect(cidrs.GetName()).To(HavePrefix(f.namespace + "-n-"))
	f.Eventually(gone(t, dpu.Client, cidrs)).Should(BeFalse())
	f.Eventually(gone(t, dpu.Client, ips)).Should(BeFalse())
	f.Expect(cidrs.GetLabels()).To(Equal(map[string]string{"pool": "n"}))
	f.Expect(cidrs.Object["spec"]).To(Equal(map[string]any{
		"cidr": "10.0.0.0/16", "perNodeNetworkPrefix": int64(24), "gatewayIndex": int64(1),
		"exclusions": []any{map[string]any{"startIP": "10.0.0.9", "endIP": "10.0.0.9"}},
		"staticAllocations": []any{map[string]any{"nodeName": "a", "prefix": "10.0.1.0/24"}, map[string]any{"nodeName": "b",
			"prefix": "10.0.2.0/24"}},
		"routes": []any{map[string]any{"dst": "10.1.0.0/16"}},
	}))
	f.Expect(ips.Object["spec"]).To(Equal(map[string]any{"subnet": "10.2.0.0/24", "perNodeBlockSize": int64(8),
		"gateway": "10.2.0.1", "defaultGateway": true}))
	f.Eventually(f.ready(network)).Should(ContainSubstring("given no node addresses yet"))
	before := cidrs.DeepCopy()
	f.Expect(unstructured.SetNestedSlice(cidrs.Object, []any{map[string]any{"nodeName": "a"}}, "status", "allocations")).To(Succeed())
	f.Expect(dpu.Client.Status().Patch(t.Context(), cidrs, client.MergeFrom(before))).To(Succeed())
	f.Eventually(f.ready(network)).Should(Equal("True"))

	f.change(network, func() { network.Spec.IPV4Network.Exclusions, network.Spec.IPV4Network.GatewayIndex = nil, nil })
	f.Eventually(func() map[string]any {
		f.Expect(gone(t, dpu.Client, cidrs)()).To(BeFalse())
		return cidrs.Object["spec"].(map[string]any)
	}).ShouldNot(Or(HaveKey("exclusions"), HaveKey("gatewayIndex")))
	f.Expect(f.Delete(t.Context(), network)).To(Succeed())
	f.Eventually(gone(t, f.Client, network)).Should(BeTrue())
	f.Expect(gone(t, dpu.Client, cidrs)()).To(BeTrue())
}

// Pools of all namespaces are in one: neither takes another's place.
func TestPoolKey_isOfOnePoolOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	key := func(namespace, name string) client.ObjectKey {
		return dpuset.PoolKey(&svcv1.DPUServiceIPAM{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	g.Expect(key(operatorv1.Namespace, "a")).To(Equal(client.ObjectKey{Namespace: operatorv1.Namespace, Name: "a"}))
	seen := map[client.ObjectKey]bool{}
	for _, of := range [][2]string{{operatorv1.Namespace, "a"}, {"x", "a"}, {"y", "a"}, {"x-y", "a"}, {"x", "y-a"}, {operatorv1.Namespace, "x-a"}} {
		k := key(of[0], of[1])
		g.Expect(k.Namespace).To(Equal(operatorv1.Namespace))
		g.Expect(seen).NotTo(HaveKey(k), "%s", of)
		seen[k] = true
	}
	long := strings.Repeat("a", 250)
	g.Expect(len(key("x", long).Name)).To(BeNumerically("<=", 253))
	g.Expect(key("x", long+"b")).NotTo(Equal(key("x", long+"c")))
}
