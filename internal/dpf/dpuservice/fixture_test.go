package dpuservice_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpucluster"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/dpf/sim/argo"
	"github.com/bedplate/bedplate/internal/dpf/sim/kamaji"
	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/queue"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// fixture has a namespace for Argo CD, and one for users.
type fixture struct {
	*WithT
	t           *testing.T
	argo, users string
	client.Client
}

func newFixture(t *testing.T, more ...string) *fixture {
	t.Helper()
	f := idle(t)
	f.start(testenv.Config(t), more...)
	return f
}

// idle has no manager yet.
func idle(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{WithT: NewWithT(t), t: t, argo: testenv.Namespace(t), users: testenv.Namespace(t), Client: testenv.Client(t)}
	f.SetDefaultEventuallyTimeout(time.Minute)
	installArgo(t)
	kamaji.Install(t, testenv.Config(t))
	return f
}

// start a manager. It ends with the test that f is in then.
func (f *fixture) start(config *rest.Config, more ...string) {
	t := f.t
	namespaces := map[string]cache.Config{f.argo: {}, f.users: {}}
	for _, namespace := range more {
		namespaces[namespace] = cache.Config{}
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: testenv.Scheme(t), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: namespaces},
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	f.Expect(err).NotTo(HaveOccurred())
	clusters, err := dpucluster.Setup(mgr, dpucluster.Config{
		Scheme: mgr.GetScheme(), Egress: egress.Policy{Loopback: true}, ProbeInterval: 200 * time.Millisecond,
	}, controller.Options{NewQueue: queue.New[reconcile.Request]})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(dpuservice.Setup(mgr, dpuservice.Config{
		Namespace: f.argo, SourceRepos: []string{"oci://example.com/**"}, Clusters: clusters, Poll: time.Second,
	}, controller.Options{NewQueue: queue.New[reconcile.Request]})).To(Succeed())
	sync := &argo.Argo{Client: f.Client, Namespace: f.argo, Charts: chart, Interval: 200 * time.Millisecond}
	f.Expect(sync.SetupWithManager(mgr)).To(Succeed())
	testenv.Run(t, mgr)
}

func installArgo(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, document := range bytes.Split(argo.CRDs, []byte("\n---\n")) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Expect(yaml.Unmarshal(document, crd)).To(Succeed())
		crds = append(crds, crd)
	}
	g.Eventually(func() error {
		_, err := envtest.InstallCRDs(testenv.Config(t), envtest.CRDInstallOptions{CRDs: crds})
		return err
	}, time.Minute).Should(Succeed())
}

// chart is a ConfigMap for each release, with the values, and one that only version 1 has.
func chart(r argo.Release) ([]*unstructured.Unstructured, error) {
	if r.Chart != "c" {
		return []*unstructured.Unstructured{charts[r.Chart](r)}, nil
	}
	objects := []*unstructured.Unstructured{deployed(r.Application, r)}
	if r.Version == "1" {
		objects = append(objects, deployed(r.Application+"-v1", r))
	}
	return objects, nil
}

// charts by their names, of one object each.
var charts = map[string]func(argo.Release) *unstructured.Unstructured{
	"administrator": func(r argo.Release) *unstructured.Unstructured { return role("ClusterRoleBinding", r) },
	"role":          func(r argo.Release) *unstructured.Unstructured { return role("RoleBinding", r) },
	"elsewhere": func(r argo.Release) *unstructured.Unstructured {
		o := deployed(r.Application, r)
		o.SetNamespace("kube-system")
		return o
	},
	"pod": func(r argo.Release) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": r.Application},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": "a"}}}}}
	},
}

func role(kind string, r argo.Release) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": r.Application},
		"roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
	}}
}

func deployed(name string, r argo.Release) *unstructured.Unstructured {
	values, _ := yaml.Marshal(r.Values)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
		"data": map[string]any{"release": r.Name, "version": r.Version, "values": string(values)},
	}}
}

// cluster whose kubeconfig is written as Kamaji does.
func (f *fixture) cluster(name string, kubeconfig []byte) *corev1.Secret {
	f.t.Helper()
	return kamaji.Kubeconfig(f.t, f.Client, f.users, name, kubeconfig)
}

// itself is a kubeconfig of the host cluster: most tests need no DPU cluster of their own.
func (f *fixture) itself() []byte {
	f.t.Helper()
	data, err := os.ReadFile(testenv.KubeconfigOf(f.t, "administrator", "system:masters"))
	f.Expect(err).NotTo(HaveOccurred())
	return data
}

// nowhere is a kubeconfig that leads to no server.
func (f *fixture) nowhere() []byte {
	f.t.Helper()
	config, err := clientcmd.Load(f.itself())
	f.Expect(err).NotTo(HaveOccurred())
	for _, c := range config.Clusters {
		c.Server = "https://127.0.0.1:1"
	}
	data, err := clientcmd.Write(*config)
	f.Expect(err).NotTo(HaveOccurred())
	return data
}

func (f *fixture) service(namespace, name string, change func(*svcv1.DPUServiceSpec)) *svcv1.DPUService {
	f.t.Helper()
	s := &svcv1.DPUService{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: svcv1.DPUServiceSpec{
		HelmChart: svcv1.HelmChart{Source: svcv1.ChartSource{RepoURL: "oci://example.com/charts", Chart: "c", Version: "1"}},
	}}
	if change != nil {
		change(&s.Spec)
	}
	f.Expect(f.Create(f.t.Context(), s)).To(Succeed())
	return s
}

// condition of an object, once it is about its generation: "True", or reason and message.
func (f *fixture) condition(o svcv1.Object, kind string) func() string {
	return func() string {
		object := o.(client.Object)
		if err := f.Get(f.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(o.GetStatus().Conditions, kind)
		switch {
		case c == nil || c.ObservedGeneration != o.GetGeneration():
			return "unknown"
		case c.Status == metav1.ConditionTrue:
			return "True"
		}
		return c.Reason + ": " + c.Message
	}
}

func (f *fixture) ready(o svcv1.Object) func() string { return f.condition(o, svcv1.ReadyCondition) }

// applications by the DPU clusters that they are for, as name of the cluster/namespace of the service.
func (f *fixture) applications() map[string]*unstructured.Unstructured {
	f.t.Helper()
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(dpuservice.ApplicationKind)
	f.Expect(f.List(f.t.Context(), all, client.InNamespace(f.argo))).To(Succeed())
	found := map[string]*unstructured.Unstructured{}
	for i := range all.Items {
		a := &all.Items[i]
		namespace, _, _ := unstructured.NestedString(a.Object, "spec", "destination", "namespace")
		_, cluster, _ := strings.Cut(a.GetAnnotations()["svc.dpu.nvidia.com/dpu-cluster"], "/")
		found[cluster+"/"+namespace] = a
	}
	return found
}

func (f *fixture) change(o client.Object, change func()) {
	f.t.Helper()
	f.Eventually(func() error {
		if err := f.Get(f.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change()
		return f.Update(f.t.Context(), o)
	}).Should(Succeed())
}

func (f *fixture) gone(o client.Object) func() bool {
	return func() bool {
		return apierrors.IsNotFound(f.Get(f.t.Context(), client.ObjectKeyFromObject(o), o))
	}
}

// argoSecrets are Argo CD's clusters.
func (f *fixture) argoSecrets() []corev1.Secret {
	f.t.Helper()
	var all corev1.SecretList
	f.Expect(f.List(f.t.Context(), &all, client.InNamespace(f.argo), client.HasLabels{dpuservice.SecretTypeLabel})).To(Succeed())
	return all.Items
}

func (f *fixture) configMaps() (names []string) {
	f.t.Helper()
	var all corev1.ConfigMapList
	f.Expect(f.List(f.t.Context(), &all, client.InNamespace(f.users))).To(Succeed())
	for i := range all.Items {
		names = append(names, all.Items[i].Name)
	}
	return names
}
