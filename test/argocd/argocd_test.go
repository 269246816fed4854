package argocd

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/dpf/provisioner/config"
	"github.com/bedplate/bedplate/internal/dpf/sim/kamaji"
)

// service of one of our charts.
func (w *world) service(namespace, name, chart, version string, values map[string]any) *svcv1.DPUService {
	w.t.Helper()
	raw, err := json.Marshal(values)
	w.Expect(err).NotTo(HaveOccurred())
	s := &svcv1.DPUService{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: svcv1.DPUServiceSpec{ServiceID: name,
		HelmChart: svcv1.HelmChart{
			Source: svcv1.ChartSource{RepoURL: "oci://" + w.charts, Chart: chart, Version: version}, Values: &runtime.RawExtension{Raw: raw},
		}}}
	w.Expect(w.host.Create(w.t.Context(), s)).To(Succeed())
	return s
}

func (w *world) change(o client.Object, c client.Client, change func()) {
	w.t.Helper()
	w.Eventually(func() error {
		w.Expect(c.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)).To(Succeed())
		change()
		return c.Update(w.t.Context(), o)
	}).Should(Succeed())
}

// ready is "True", or why it isn't, of the generation that there is.
func (w *world) ready(s *svcv1.DPUService) func() string {
	return func() string {
		w.Expect(w.host.Get(w.t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
		c := meta.FindStatusCondition(s.Status.Conditions, svcv1.ReadyCondition)
		switch {
		case c == nil || c.ObservedGeneration != s.Generation:
			return "unknown"
		case c.Status == metav1.ConditionTrue:
			return "True"
		}
		return c.Reason + ": " + c.Message
	}
}

func (w *world) application(s *svcv1.DPUService) *unstructured.Unstructured {
	w.t.Helper()
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(dpuservice.ApplicationKind.GroupVersion().WithKind("ApplicationList"))
	labels := client.MatchingLabels{"svc.dpu.nvidia.com/dpuservice-uid": string(s.UID)}
	w.Expect(w.host.List(w.t.Context(), all, client.InNamespace(operatorv1.Namespace), labels)).To(Succeed())
	w.Expect(all.Items).To(HaveLen(1))
	return &all.Items[0]
}

func (w *world) gone(c client.Client, o client.Object) func() bool {
	return func() bool { return apierrors.IsNotFound(c.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)) }
}

func (w *world) deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: name}}
}

func (w *world) image(d *appsv1.Deployment) func() string {
	return func() string {
		if err := w.dpu.Get(w.t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			return err.Error()
		}
		return d.Spec.Template.Spec.Containers[0].Image
	}
}

// set of a service in a namespace.
func set(namespace string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dpf-dpucniprovisioner"}}
}

func TestArgoCD_deploysDPUServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, chart := range []string{"dpf-servicechainset", "dpf-dpucniprovisioner"} {
		w.publish(chart, "v1.2.3")
	}
	refused := w.service(w.namespace("red"), "refused", "dpf-servicechainset", "v1.2.3", map[string]any{"image": "localhost:5000/a:1"})
	s := w.service(operatorv1.Namespace, "servicechainset", "dpf-servicechainset", "v1.2.3", map[string]any{"image": "localhost:5000/a:1"})
	d := w.deployment("dpf-servicechainset")
	w.isSynced(s, d)
	w.isHealed(s, d)
	red := w.areTwo()
	w.saysWhatFails(red)
	w.saysWhatIsRefused(refused)
	w.hasRoomForEveryHost()
	w.takesWhatIsAdopted()
	w.takesAllAlong(s, d, red, refused)
	w.waitsForNoClusterThatNeverAnswered()
}

func (w *world) isSynced(s *svcv1.DPUService, d *appsv1.Deployment) {
	w.t.Helper()
	w.t.Log("a service is synced into the DPU cluster, and its status says so")
	began := time.Now()
	w.Eventually(w.ready(s)).Should(Equal("True"))
	w.t.Logf("after %s", time.Since(began))
	w.Expect(w.image(d)()).To(Equal("localhost:5000/a:1"))
	w.Expect(d.Spec.Template.Labels).To(HaveKeyWithValue(svcv1.ServiceIDLabel, "servicechainset"))
	w.Expect(d.Status.ReadyReplicas).To(BeEquivalentTo(2))
	w.Expect(w.dpu.List(w.t.Context(), &svcv1.ServiceChainSetList{})).To(Succeed(), "the chart brings its CRDs")
	a := w.application(s)
	w.Expect(d.Annotations).To(HaveKeyWithValue("argocd.argoproj.io/tracking-id", // the stand-in marks objects in this way, too
		a.GetName()+":apps/Deployment:"+operatorv1.Namespace+"/dpf-servicechainset"))
	w.Expect(d.Labels).To(BeEmpty())
	compared, _, _ := unstructured.NestedMap(a.Object, "status", "sync", "comparedTo", "source")
	w.Expect(compared).To(Equal(a.Object["spec"].(map[string]any)["source"]))

	w.t.Log("a change of values is synced")
	w.change(s, w.host, func() {
		s.Spec.HelmChart.Values.Raw = []byte(`{"image": "localhost:5000/a:2", "args": ["--poll-interval=10s"]}`)
	})
	w.Eventually(w.ready(s)).Should(Equal("True"))
	w.Expect(w.image(d)()).To(Equal("localhost:5000/a:2"), "ready is about the new values")
	w.Expect(d.Spec.Template.Spec.Containers[0].Args).To(ContainElement("--poll-interval=10s"))
}

func (w *world) isHealed(s *svcv1.DPUService, d *appsv1.Deployment) {
	w.t.Helper()
	w.t.Log("what others change is healed, but not while it is paused")
	w.change(d, w.dpu, func() { d.Spec.Replicas = ptr.To[int32](1) })
	w.Eventually(func() int32 { w.image(d)(); return *d.Spec.Replicas }).Should(BeEquivalentTo(2))
	w.change(s, w.host, func() { s.Spec.Paused = true })
	w.Eventually(func() map[string]string { return w.application(s).GetAnnotations() }).Should(HaveKeyWithValue(dpuservice.SkipAnnotation, "true"))
	w.Eventually(func(g Gomega) { // an operation that has begun before still ends
		w.change(d, w.dpu, func() { d.Spec.Replicas = ptr.To[int32](1) })
		g.Consistently(func() int32 { w.image(d)(); return *d.Spec.Replicas }, "15s").Should(BeEquivalentTo(1))
	}).Should(Succeed())
	w.change(s, w.host, func() { s.Spec.Paused = false })
	w.Eventually(func() int32 { w.image(d)(); return *d.Spec.Replicas }).Should(BeEquivalentTo(2))
	w.Eventually(w.ready(s)).Should(Equal("True"))
}

// areTwo services of one name, of which one is left.
func (w *world) areTwo() *svcv1.DPUService {
	w.t.Helper()
	w.t.Log("the newest version, of two services of one name in two namespaces")
	var both []*svcv1.DPUService
	for _, namespace := range []string{"blue", "red"} {
		values := map[string]any{"image": "localhost:5000/" + namespace, "config": `{"of":"` + namespace + `"}`}
		both = append(both, w.service(w.namespace(namespace), "vtep", "dpf-dpucniprovisioner", ">=0.0.0-0", values))
	}
	for _, each := range both {
		w.Eventually(w.ready(each)).Should(Equal("True"), each.Namespace)
		of := set(each.Namespace)
		w.Expect(w.dpu.Get(w.t.Context(), client.ObjectKeyFromObject(of), of)).To(Succeed())
		w.Expect(of.Spec.Template.Spec.Containers[0].Image).To(Equal("localhost:5000/" + each.Namespace))
		config := &corev1.ConfigMap{ObjectMeta: of.ObjectMeta}
		w.Expect(w.dpu.Get(w.t.Context(), client.ObjectKeyFromObject(of), config)).To(Succeed())
		w.Expect(config.Data).To(HaveKeyWithValue("config.json", `{"of":"`+each.Namespace+`"}`))
	}
	w.Expect(w.host.Delete(w.t.Context(), both[0])).To(Succeed())
	w.Eventually(w.gone(w.host, both[0])).Should(BeTrue())
	w.Expect(w.gone(w.dpu, set("blue"))()).To(BeTrue(), "it is gone before the service is")
	w.Expect(w.gone(w.dpu, set("red"))()).To(BeFalse())
	return both[1]
}

func (w *world) saysWhatFails(red *svcv1.DPUService) {
	w.t.Helper()
	w.t.Log("a chart that isn't there is said")
	w.change(red, w.host, func() { red.Spec.HelmChart.Source.Version = "v9.9.9" })
	w.Eventually(w.ready(red)).Should(ContainSubstring("v9.9.9"))
	w.Expect(w.gone(w.dpu, set("red"))()).To(BeFalse())
	failed := w.application(red).Object["status"].(map[string]any)
	w.Expect(failed["sync"]).To(HaveKeyWithValue("status", "Unknown"))
	w.Expect(failed["health"]).To(HaveKeyWithValue("status", "Healthy"), "what was deployed before runs on")
}

func (w *world) saysWhatIsRefused(refused *svcv1.DPUService) {
	w.t.Helper()
	w.t.Log("objects that the project refuses are named, and none of the others is deployed")
	w.Eventually(w.ready(refused)).Should(MatchRegexp(
		`ClusterRole \S+: resource rbac.authorization.k8s.io:ClusterRole is not permitted in project doca-platform-project-dpu-red-`))
	w.t.Log(w.ready(refused)())
	w.Expect(w.gone(w.dpu, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "dpf-servicechainset"}})()).To(BeTrue())
}

// hosts is the configuration of the DPUs of as many hosts as there may be, with the longest names that there is room for.
func (w *world) hosts(hostPF0 string) map[string]any {
	w.t.Helper()
	side := config.DPU{PerNodeConfig: map[string]config.DPUNode{}, HostNodes: map[string]string{}, HostPF0: hostPF0,
		VTEPCIDR: netip.MustParsePrefix("10.0.0.0/8"), HostCIDR: netip.MustParsePrefix("192.0.2.0/24")}
	for i := range operatorv1.MaxHosts {
		name, network := fmt.Sprintf("%s-%04d", strings.Repeat("a", 48), i), fmt.Sprintf("10.1%02d.1%02d.", i/100, i%100)
		side.PerNodeConfig["d"+name] = config.DPUNode{
			VTEPIP: netip.MustParsePrefix(network + "120/24"), Gateway: netip.MustParseAddr(network + "254"),
		}
		side.HostNodes["d"+name] = "h" + name
	}
	data, err := json.Marshal(side)
	w.Expect(err).NotTo(HaveOccurred())
	return map[string]any{"image": "localhost:5000/a", "config": string(data)}
}

func (w *world) hasRoomForEveryHost() {
	w.t.Helper()
	w.t.Log("the configuration of as many hosts as there may be, and a change of it")
	values := w.hosts("ens2f0np0")
	s := w.service(operatorv1.Namespace, "dpucniprovisioner", "dpf-dpucniprovisioner", "v1.2.3", values)
	w.Eventually(w.ready(s)).Should(Equal("True"))
	for _, port := range []string{"ens3f0np0", "ens4f0np0"} {
		values = w.hosts(port)
		raw, err := json.Marshal(values)
		w.Expect(err).NotTo(HaveOccurred())
		w.change(s, w.host, func() { s.Spec.HelmChart.Values.Raw = raw })
		w.Eventually(w.ready(s)).Should(Equal("True"))
	}
	made := &corev1.ConfigMap{ObjectMeta: set(operatorv1.Namespace).ObjectMeta}
	w.Expect(w.dpu.Get(w.t.Context(), client.ObjectKeyFromObject(made), made)).To(Succeed())
	w.Expect(made.Data).To(HaveKeyWithValue("config.json", values["config"]))
	w.Expect(made.Annotations).NotTo(HaveKey(corev1.LastAppliedConfigAnnotation))
	a := w.application(s)
	w.Expect(a.Object["status"]).To(HaveKeyWithValue("history", BeEmpty()))
	whole, err := json.Marshal(a.Object)
	w.Expect(err).NotTo(HaveOccurred())
	fields, err := json.Marshal(a.GetManagedFields())
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Logf("of a configuration of %d bytes the Application has %d, with managedFields of %d",
		len(made.Data["config.json"]), len(whole), len(fields))
	w.Expect(w.host.Delete(w.t.Context(), s)).To(Succeed())
	w.Eventually(w.gone(w.host, s)).Should(BeTrue())
}

func (w *world) takesWhatIsAdopted() {
	w.t.Helper()
	w.t.Log("what was abandoned is adopted by a service of the same name without a sync, and goes with it")
	deploy := func() *svcv1.DPUService {
		s := w.service("blue", "vtep", "dpf-dpucniprovisioner", "v1.2.3", map[string]any{"image": "localhost:5000/blue", "config": "{}"})
		w.Eventually(w.ready(s)).Should(Equal("True"))
		return s
	}
	s := deploy()
	w.change(s, w.host, func() { s.Annotations = map[string]string{svcv1.AbandonAnnotation: "true"} })
	w.Expect(w.host.Delete(w.t.Context(), s)).To(Succeed())
	w.Eventually(w.gone(w.host, s)).Should(BeTrue())
	w.Expect(w.gone(w.dpu, set("blue"))()).To(BeFalse())
	s = deploy()
	w.Expect(w.application(s).Object["status"]).NotTo(HaveKey("operationState"))
	w.Expect(w.host.Delete(w.t.Context(), s)).To(Succeed())
	w.Eventually(w.gone(w.host, s)).Should(BeTrue())
	w.Expect(w.gone(w.dpu, set("blue"))()).To(BeTrue())
}

func (w *world) takesAllAlong(s *svcv1.DPUService, d *appsv1.Deployment, red, refused *svcv1.DPUService) {
	w.t.Helper()
	w.t.Log("deletions take all objects along, also of one that is paused, whose chart isn't there, or that was refused")
	w.change(s, w.host, func() { s.Spec.Paused = true })
	w.Eventually(func() map[string]string { return w.application(s).GetAnnotations() }).Should(HaveKeyWithValue(dpuservice.SkipAnnotation, "true"))
	for _, each := range []*svcv1.DPUService{s, red, refused} {
		w.Expect(w.host.Delete(w.t.Context(), each)).To(Succeed())
		w.Eventually(w.gone(w.host, each), "7m").Should(BeTrue(), each.Name) // Argo CD first tries again what was refused, for 310 s
	}
	w.Expect(w.gone(w.dpu, d)()).To(BeTrue())
	w.Expect(w.gone(w.dpu, set("red"))()).To(BeTrue())
}

func (w *world) waitsForNoClusterThatNeverAnswered() {
	w.t.Helper()
	w.t.Log("a DPU cluster that has never answered holds up no deletion")
	access, err := clientcmd.Load(w.access)
	w.Expect(err).NotTo(HaveOccurred())
	for _, c := range access.Clusters {
		c.Server = "https://127.0.0.1:1"
	}
	nowhere, err := clientcmd.Write(*access)
	w.Expect(err).NotTo(HaveOccurred())
	kamaji.Kubeconfig(w.t, w.host, "kamaji", "nowhere", nowhere)
	s := w.service(operatorv1.Namespace, "vtep", "dpf-dpucniprovisioner", "v1.2.3", map[string]any{"image": "localhost:5000/a", "config": "{}"})
	w.Eventually(w.ready(s)).Should(MatchRegexp(`Application nowhere-vtep-\S+: .*connection refused`))
	w.Eventually(func() bool { return w.gone(w.dpu, set(operatorv1.Namespace))() }).Should(BeFalse())
	w.Expect(w.host.Delete(w.t.Context(), s)).To(Succeed())
	w.Eventually(w.gone(w.host, s)).Should(BeTrue())
	w.Expect(w.gone(w.dpu, set(operatorv1.Namespace))()).To(BeTrue())
}
