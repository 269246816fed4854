package dpuservice_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/dpf/dpuset"
	"github.com/bedplate/bedplate/internal/dpf/sim/kamaji"
	"github.com/bedplate/bedplate/internal/testenv"
)

// still is how long something is looked at that must not happen.
const still = 2 * time.Second

func TestService_isDeployedChangedAndTakenBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster("a", f.itself())
	s := f.service(f.users, "hbn", func(spec *svcv1.DPUServiceSpec) {
		spec.ServiceID = "hbn"
		spec.HelmChart.Values = &runtime.RawExtension{Raw: []byte(`{"n":1,"serviceDaemonSet":{"labels":{"x":"y"}}}`)}
	})
	f.Eventually(f.ready(s)).Should(Equal("True"))
	a := f.applications()["a/"+f.users]
	f.Expect(f.configMaps()).To(ContainElements(a.GetName(), a.GetName()+"-v1"))
	made := &corev1.ConfigMap{}
	key := types.NamespacedName{Namespace: f.users, Name: a.GetName()}
	f.Expect(f.Get(t.Context(), key, made)).To(Succeed())
	f.Expect(made.Data["release"]).To(Equal("hbn"))
	f.Expect(made.Data["values"]).To(MatchYAML(`{n: 1, serviceDaemonSet: {labels: {x: y, svc.dpu.nvidia.com/service: hbn}}}`))
	f.Expect(a.Object["spec"]).To(HaveKeyWithValue("source", HaveKeyWithValue("repoURL", "example.com/charts")))

	f.change(s, func() { s.Spec.HelmChart.Source.Version = "2" })
	f.Eventually(f.ready(s)).Should(Equal("True"))
	f.Expect(f.Get(t.Context(), key, made)).To(Succeed())
	f.Expect(made.Data["version"]).To(Equal("2"), "ready is about the new version")
	f.Expect(f.configMaps()).NotTo(ContainElement(a.GetName() + "-v1"))

	f.change(f.applications()["a/"+f.users], func() {})
	rv := f.applications()["a/"+f.users].GetResourceVersion()
	f.Consistently(func() string { return f.applications()["a/"+f.users].GetResourceVersion() }, still).Should(Equal(rv),
		"nothing is written in vain")

	f.Expect(f.Delete(t.Context(), s)).To(Succeed())
	f.Eventually(f.gone(s)).Should(BeTrue())
	f.Expect(f.applications()).To(BeEmpty())
	f.Expect(f.configMaps()).NotTo(ContainElement(a.GetName()), "Argo CD has deleted it")
	f.Eventually(f.argoSecrets).Should(BeEmpty())
	projects := &unstructured.UnstructuredList{}
	projects.SetGroupVersionKind(dpuservice.ProjectKind)
	f.Eventually(func() int {
		f.Expect(f.List(t.Context(), projects, client.InNamespace(f.argo))).To(Succeed())
		return len(projects.Items)
	}).Should(BeZero())
}

// The peer's Applications of these two have one name.
func TestService_ofTheSameNameInAnotherNamespaceIsAnother(t *testing.T) {
	t.Parallel()
	other := testenv.Namespace(t)
	f := newFixture(t, other)
	f.cluster("a", f.itself())
	one, two := f.service(f.users, "s", nil), f.service(other, "s", nil)
	f.Eventually(f.ready(one)).Should(Equal("True"))
	f.Eventually(f.ready(two)).Should(Equal("True"))
	f.Expect(f.applications()).To(And(HaveKey("a/"+f.users), HaveKey("a/"+other)))
	f.Expect(f.Delete(t.Context(), one)).To(Succeed())
	f.Eventually(f.gone(one)).Should(BeTrue())
	f.Expect(f.applications()).To(HaveKey("a/" + other))
	f.Expect(f.ready(two)()).To(Equal("True"))
}

// The peer says Ready.
func TestService_isNotReadyWithoutACluster(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.service(f.users, "s", nil)
	f.Eventually(f.ready(s)).Should(ContainSubstring("there is no DPU cluster"))
	f.Consistently(f.ready(s), still).ShouldNot(Equal("True"))
	host := f.service(f.users, "host", func(spec *svcv1.DPUServiceSpec) { spec.DeployInCluster = true })
	f.Eventually(f.ready(host)).Should(Equal("True"), "the host cluster is always there")
	f.cluster("a", f.itself())
	f.Eventually(f.ready(s)).Should(Equal("True"))
}

// The peer stops at the first cluster that can't be reached, and a service stays for ever that was deployed there.
func TestService_isNotHeldUpByAClusterThatIsAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.cluster("a", f.itself())
	f.cluster("b", []byte("no kubeconfig"))
	f.cluster("c", f.itself())
	f.cluster("never", f.nowhere())
	s := f.service(f.users, "s", nil)
	f.Eventually(f.configMaps).Should(ContainElement(HavePrefix("a-s-")))
	f.change(a, func() { a.Data["admin.conf"] = f.nowhere() })
	f.Eventually(func() bool { return f.applications()["c/"+f.users] != nil }).Should(BeTrue())
	name := f.applications()["c/"+f.users].GetName()
	f.Eventually(f.configMaps).Should(ContainElement(name))
	f.Eventually(f.condition(s, svcv1.ApplicationPrereqsReconciledCondition)).Should(And(
		HavePrefix("Pending: "), ContainSubstring(f.users+"/b"), Not(ContainSubstring(f.users+"/c"))))
	f.Eventually(f.condition(s, svcv1.ApplicationsReadyCondition)).Should(And(ContainSubstring("Application a-s-"),
		ContainSubstring("connection refused")))
	f.Expect(f.ready(s)()).NotTo(Equal("True"))

	f.Expect(f.Delete(t.Context(), s)).To(Succeed())
	f.Eventually(f.configMaps).ShouldNot(ContainElement(name))
	f.Eventually(f.ready(s)).Should(And(HavePrefix("AwaitingDeletion: "), ContainSubstring(f.users+"/a is still there"),
		ContainSubstring(svcv1.AbandonAnnotation)))
	f.Eventually(func() int { return len(f.applications()) }).Should(Equal(1), "nothing was ever deployed in the last one, which isn't waited for")
	f.Consistently(f.gone(s), still).Should(BeFalse())
	f.change(s, func() { s.Annotations = map[string]string{svcv1.AbandonAnnotation: "true"} })
	f.Eventually(f.gone(s)).Should(BeTrue())
	f.Expect(f.applications()).To(BeEmpty())
	f.Eventually(func() string { return f.notes("Abandoned") }).Should(ContainSubstring(f.users + "/a"))
}

// Argo CD runs no sync where all is as it has to be already, such as after an Application of the same name that was abandoned.
func TestService_takesWhatArgoCDHasAdopted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	secret := f.cluster("a", f.itself())
	s := f.service(f.users, "s", nil)
	f.Eventually(f.ready(s)).Should(Equal("True"))
	name := f.applications()["a/"+f.users].GetName()
	f.change(s, func() { s.Annotations = map[string]string{svcv1.AbandonAnnotation: "true"} })
	f.Expect(f.Delete(t.Context(), s)).To(Succeed())
	f.Eventually(f.gone(s)).Should(BeTrue())
	f.Expect(f.configMaps()).To(ContainElement(name))

	s = f.service(f.users, "s", nil)
	f.Eventually(f.ready(s)).Should(Equal("True"))
	f.Expect(f.applications()["a/"+f.users].Object["status"]).NotTo(HaveKey("operationState"))
	f.change(secret, func() { secret.Data["admin.conf"] = f.nowhere() })
	f.Eventually(f.ready(s)).Should(ContainSubstring("connection refused"))
	f.Expect(f.Delete(t.Context(), s)).To(Succeed())
	f.Consistently(f.gone(s), still).Should(BeFalse(), "something is left in its cluster")
	f.change(secret, func() { secret.Data["admin.conf"] = f.itself() })
	f.Eventually(f.gone(s)).Should(BeTrue())
	f.Expect(f.configMaps()).NotTo(ContainElement(name))
}

func TestService_leavesAClusterThatIsGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster("a", f.itself())
	gone := f.cluster("gone", f.nowhere())
	s := f.service(f.users, "s", nil)
	f.Eventually(func() int { return len(f.applications()) }).Should(Equal(2))
	f.Eventually(f.argoSecrets).Should(HaveLen(2))
	f.Expect(f.Delete(t.Context(), gone)).To(Succeed())
	f.Eventually(f.ready(s)).Should(Equal("True"), "there is no cluster left that could not be reached")
	f.Expect(f.applications()).To(And(HaveLen(1), HaveKey("a/"+f.users)))
	f.Eventually(f.argoSecrets).Should(HaveLen(1))
}

func TestService_givesArgoARotatedKubeconfig(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	secret := f.cluster("a", f.nowhere())
	s := f.service(f.users, "s", nil)
	f.Eventually(f.condition(s, svcv1.ApplicationsReadyCondition)).Should(ContainSubstring("connection refused"))
	f.change(secret, func() { secret.Data["admin.conf"] = f.itself() })
	f.Eventually(f.ready(s)).Should(Equal("True"))
}

// Argo CD gives up after some attempts of a sync, until the chart, its version or its values change: also where nothing was wrong with these.
func TestService_isSyncedThoughArgoCDHasGivenUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster("a", f.itself())
	s := f.service(f.users, "s", nil)
	f.Eventually(f.ready(s)).Should(Equal("True"))
	inTheWay := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.users, Name: f.applications()["a/"+f.users].GetName()}}
	f.change(inTheWay, func() { inTheWay.Immutable = ptr.To(true) })
	f.change(s, func() { s.Spec.HelmChart.Source.Version = "2" })
	f.Eventually(f.ready(s)).Should(ContainSubstring("(retried 5 times)"))
	f.Expect(f.Delete(t.Context(), inTheWay)).To(Succeed())
	f.Eventually(f.ready(s)).Should(Equal("True"))
	f.Expect(f.Delete(t.Context(), s)).To(Succeed())
	f.Eventually(f.gone(s)).Should(BeTrue())
}

// What is there stays as it is, such as after an upgrade from a release that didn't ask, and can be deleted.
func TestService_leavesAClusterAsItIsThatIsntAllowedAnyMore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster("a", f.itself())
	s := f.service(f.users, "s", nil)
	f.Eventually(f.ready(s)).Should(Equal("True"))
	name := f.applications()["a/"+f.users].GetName()
	kamaji.Allow(t, f.Client, f.users, false)
	f.Eventually(f.ready(s)).Should(ContainSubstring("there is no DPU cluster"))
	f.change(s, func() { s.Spec.HelmChart.Source.Version = "2" })
	f.Consistently(f.configMaps, still).Should(ContainElements(name, name+"-v1"))
	f.Expect(f.applications()).To(HaveKey("a/" + f.users))
	f.Expect(f.Delete(t.Context(), s)).To(Succeed())
	f.Eventually(f.gone(s)).Should(BeTrue())
	f.Expect(f.configMaps()).NotTo(ContainElement(HavePrefix(name)))
}

func TestService_isPaused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster("a", f.itself())
	s := f.service(f.users, "s", nil)
	f.Eventually(f.ready(s)).Should(Equal("True"))
	name := f.applications()["a/"+f.users].GetName()
	f.change(s, func() { s.Spec.Paused, s.Spec.HelmChart.Source.Version = true, "2" })
	f.Eventually(f.ready(s)).Should(ContainSubstring("paused"))
	f.Expect(f.applications()["a/"+f.users].GetAnnotations()).To(HaveKeyWithValue(dpuservice.SkipAnnotation, "true"))
	f.Expect(f.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.users, Name: name}})).To(Succeed())
	f.Consistently(f.configMaps, still).Should(And(ContainElement(name+"-v1"), Not(ContainElement(name))),
		"neither we nor Argo CD change anything")
	f.change(s, func() { s.Spec.Paused = false })
	f.Eventually(f.ready(s)).Should(Equal("True"))
	f.Expect(f.configMaps()).To(And(ContainElement(name), Not(ContainElement(name+"-v1"))))

	f.change(s, func() { s.Spec.Paused = true })
	f.Eventually(f.ready(s)).Should(ContainSubstring("paused"))
	f.Expect(f.Delete(t.Context(), s)).To(Succeed())
	f.Eventually(f.gone(s)).Should(BeTrue(), "deletion isn't paused")
	f.Expect(f.configMaps()).NotTo(ContainElement(name))
}

// What has the name of ours, and isn't, is left alone.
func TestService_takesNoApplicationOfOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.service(f.users, "s", func(spec *svcv1.DPUServiceSpec) { spec.DeployInCluster = true })
	f.Eventually(f.ready(s)).Should(Equal("True"))
	a := f.applications()["in-cluster/"+f.users]
	f.change(a, func() { a.SetAnnotations(nil); a.SetLabels(nil) })
	f.change(s, func() { s.Spec.HelmChart.Source.Version = "2" })
	f.Eventually(f.condition(s, svcv1.ApplicationsReconciledCondition)).Should(And(HavePrefix("Failure: "),
		ContainSubstring("rename or delete it")))
	f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(a), a)).To(Succeed())
	f.Expect(a.Object["spec"]).To(HaveKeyWithValue("source", HaveKeyWithValue("targetRevision", "1")))
	f.Expect(f.Delete(t.Context(), s)).To(Succeed())
	f.Eventually(f.gone(s)).Should(BeTrue())
	f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(a), a)).To(Succeed())
}

func (f *fixture) ifc(name, serviceID string) *svcv1.DPUServiceInterface {
	f.t.Helper()
	i := &svcv1.DPUServiceInterface{ObjectMeta: metav1.ObjectMeta{Namespace: f.users, Name: name}}
	i.Spec.Template.Spec.Template.Spec = svcv1.ServiceInterfaceSpec{
		InterfaceType: svcv1.InterfaceService, Service: &svcv1.ServiceDef{ServiceID: serviceID, InterfaceName: name + "_if", Network: "mybr"},
	}
	f.Expect(f.Create(f.t.Context(), i)).To(Succeed())
	return i
}

// The peer lets interfaces go that a service has.
func TestService_keepsItsInterfaces(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster("a", f.itself())
	p0, foreign := f.ifc("p0", "s"), f.ifc("foreign", "other")
	s := f.service(f.users, "s", func(spec *svcv1.DPUServiceSpec) {
		spec.ServiceID, spec.Interfaces = "s", []string{"p0", "p1", "foreign"}
	})
	f.Eventually(f.condition(s, svcv1.DPUServiceInterfaceReconciledCondition)).Should(And(
		ContainSubstring("p1: it doesn't exist"), ContainSubstring(`foreign: it is of the service "other"`), Not(ContainSubstring("p0"))))
	f.Expect(f.applications()).To(BeEmpty(), "without its interfaces the service would do nothing")
	f.change(s, func() { s.Spec.Interfaces = []string{"p0", "p1"} })
	p1 := f.ifc("p1", "s")
	f.Eventually(f.ready(s)).Should(Equal("True"))
	f.Expect(f.applications()["a/"+f.users].Object["spec"]).To(HaveKeyWithValue("source", HaveKeyWithValue("helm",
		HaveKeyWithValue("valuesObject",
			HaveKeyWithValue("serviceDaemonSet", HaveKeyWithValue("annotations", HaveKeyWithValue("k8s.v1.cni.cncf.io/networks", MatchJSON(
				`[{"name":"mybr","namespace":"`+f.users+`","interface":"p0_if"},{"name":"mybr","namespace":"`+f.users+`","interface":"p1_if"}]`))))))))

	second := f.service(f.users, "second", func(spec *svcv1.DPUServiceSpec) { spec.ServiceID, spec.Interfaces = "s", []string{"p0"} })
	f.Eventually(f.ready(second)).Should(ContainSubstring("DPUService s has it"))
	f.Expect(f.Delete(t.Context(), p0)).To(Succeed())
	f.Consistently(f.gone(p0), still).Should(BeFalse(), "it is in use")

	f.change(s, func() { s.Spec.Interfaces = []string{"p1"} })
	f.Eventually(f.gone(p0)).Should(BeTrue(), "it isn't any more")
	f.Eventually(f.ready(second)).Should(ContainSubstring("p0: it doesn't exist"))
	f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
	f.Expect(foreign.Finalizers).To(BeEmpty())
	f.Expect(f.Delete(t.Context(), s)).To(Succeed())
	f.Eventually(f.gone(s)).Should(BeTrue())
	f.Expect(f.Get(t.Context(), client.ObjectKeyFromObject(p1), p1)).To(Succeed())
	f.Expect(p1.Finalizers).To(BeEmpty())
}

// networks of a service's pods in DPU cluster a.
func (f *fixture) networks() string {
	f.t.Helper()
	a := f.applications()["a/"+f.users]
	if a == nil {
		return ""
	}
	text, _, err := unstructured.NestedString(a.Object, "spec", "source", "helm", "valuesObject", "serviceDaemonSet", "annotations",
		svcv1.NetworksAnnotation)
	f.Expect(err).NotTo(HaveOccurred())
	return text
}

// The ipam of a chain's port had no effect, and nothing said so.
func TestService_asksForTheAddressesThatChainsGive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster("a", f.itself())
	i := f.ifc("p0", "s")
	f.change(i, func() { i.Spec.Template.Spec.Template.Metadata.Labels = map[string]string{"if": "p0"} })
	s := f.service(f.users, "s", func(spec *svcv1.DPUServiceSpec) { spec.ServiceID, spec.Interfaces = "s", []string{"p0"} })
	plain := `[{"name":"mybr","namespace":"` + f.users + `","interface":"p0_if"}]`
	f.Eventually(f.networks).Should(MatchJSON(plain))
	chain := &svcv1.DPUServiceChain{ObjectMeta: metav1.ObjectMeta{Namespace: f.users, Name: "c"}}
	chain.Spec.Template.Spec.Template.Spec.Switches = []svcv1.Switch{{Ports: []svcv1.Port{{ServiceInterface: svcv1.ServiceIfc{
		MatchLabels: map[string]string{"if": "p0"}, IPAM: &svcv1.IPAM{MatchLabels: map[string]string{"pool": "p"}, SetDefaultRoute: true},
	}}}}}
	f.Expect(f.Create(t.Context(), chain)).To(Succeed())
	f.Eventually(f.ready(s)).Should(Equal("Failure: DPUServiceInterface p0: DPUServiceChain c: no DPUServiceIPAM of this namespace has the labels " +
		"pool=p in spec.metadata: create it"))
	f.Expect(f.networks()).To(MatchJSON(plain), "it runs on as it is")
	pool := &svcv1.DPUServiceIPAM{ObjectMeta: metav1.ObjectMeta{Namespace: f.users, Name: "p"}, Spec: svcv1.DPUServiceIPAMSpec{
		Metadata:   svcv1.Metadata{Labels: map[string]string{"pool": "p"}},
		IPV4Subnet: &svcv1.IPV4Subnet{Subnet: "10.2.0.0/24", Gateway: "10.2.0.1", PerNodeIPCount: 8},
	}}
	f.Expect(f.Create(t.Context(), pool)).To(Succeed())
	asks := func(gateway string) string {
		return `[{"name":"mybr","namespace":"` + f.users + `","interface":"p0_if","default-route":["` + gateway + `"],"cni-args":{"poolNames":["` +
			dpuset.PoolKey(pool).Name + `"],"poolType":"ippool"}}]`
	}
	f.Eventually(f.networks).Should(MatchJSON(asks("10.2.0.1")))
	f.Eventually(f.ready(s)).Should(Equal("True"))
	f.change(pool, func() { pool.Spec.IPV4Subnet.Gateway = "10.2.0.2" })
	f.Eventually(f.networks).Should(MatchJSON(asks("10.2.0.2")))
	f.Expect(f.Delete(t.Context(), chain)).To(Succeed())
	f.Eventually(f.networks).Should(MatchJSON(plain))
	f.Expect(f.Delete(t.Context(), s)).To(Succeed())
	f.Eventually(f.gone(s)).Should(BeTrue())
}

// notes of events with a reason.
func (f *fixture) notes(reason string) (notes string) {
	f.t.Helper()
	all := &unstructured.UnstructuredList{}
	all.SetAPIVersion("events.k8s.io/v1")
	all.SetKind("EventList")
	f.Expect(f.List(f.t.Context(), all, client.InNamespace(f.users))).To(Succeed())
	for i := range all.Items {
		if all.Items[i].Object["reason"] == reason {
			notes += all.Items[i].Object["note"].(string) + "\n"
		}
	}
	return notes
}
