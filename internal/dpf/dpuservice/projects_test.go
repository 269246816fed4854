package dpuservice_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	svcv1 "github.com/bedplate/bedplate/api/dpf/svc/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/dpuservice"
	"github.com/bedplate/bedplate/internal/testenv"
)

func of(chart string, onHost bool) func(*svcv1.DPUServiceSpec) {
	return func(spec *svcv1.DPUServiceSpec) { spec.HelmChart.Source.Chart, spec.DeployInCluster = chart, onHost }
}

// Argo CD is an administrator. Whoever may create a DPUService isn't.
func TestService_deploysInItsOwnNamespaceAndGivesNoRights(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster("a", f.itself())
	for name, chart := range map[string]string{"host-admin": "administrator", "host-elsewhere": "elsewhere", "host-role": "role", "host-pod": "pod"} {
		s := f.service(f.users, name, of(chart, true))
		f.Eventually(f.ready(s)).Should(ContainSubstring("is not permitted in project doca-platform-project-host-"+f.users), name)
	}
	for name, chart := range map[string]string{"dpu-admin": "administrator", "dpu-elsewhere": "elsewhere"} {
		s := f.service(f.users, name, of(chart, false))
		f.Eventually(f.ready(s)).Should(ContainSubstring("is not permitted in project doca-platform-project-dpu-"+f.users), name)
	}
	inside := f.service(f.users, "inside", of("role", false))
	f.Eventually(f.ready(inside)).Should(Equal("True"), "in its namespace of a DPU cluster it may do anything")

	var given rbacv1.ClusterRoleBindingList
	f.Expect(f.List(t.Context(), &given)).To(Succeed())
	for _, b := range given.Items {
		f.Expect(b.Name).NotTo(HavePrefix("in-cluster-host-"))
		f.Expect(b.Name).NotTo(HavePrefix("a-dpu-admin"))
	}
	var elsewhere corev1.ConfigMapList
	f.Expect(f.List(t.Context(), &elsewhere, client.InNamespace("kube-system"))).To(Succeed())
	for _, c := range elsewhere.Items {
		f.Expect(c.Name).NotTo(ContainSubstring("elsewhere"))
	}

	system := f.service(f.argo, "component", of("administrator", false))
	f.Eventually(f.ready(system)).Should(Equal("True"), "the operator's components may")
	f.Expect(f.Delete(t.Context(), system)).To(Succeed())
	f.Eventually(f.gone(system)).Should(BeTrue())
	f.Expect(f.List(t.Context(), &given)).To(Succeed())
	f.Expect(given.Items).NotTo(ContainElement(HaveField("Name", HavePrefix("a-component-"))))
}

func TestService_comesFromAnAllowedRepository(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster("a", f.itself())
	from := func(repo string) func(*svcv1.DPUServiceSpec) {
		return func(spec *svcv1.DPUServiceSpec) { spec.HelmChart.Source.RepoURL = repo }
	}
	theirs := f.service(f.users, "s", from("oci://elsewhere.example.com/charts"))
	f.Eventually(f.ready(theirs)).Should(ContainSubstring("application repo elsewhere.example.com/charts is not permitted"))
	f.change(theirs, func() { theirs.Spec.HelmChart.Source.RepoURL = "oci://example.com/any/charts" })
	f.Eventually(f.ready(theirs)).Should(Equal("True"))
	system := f.service(f.argo, "component", from("oci://elsewhere.example.com/charts"))
	f.Eventually(f.ready(system)).Should(Equal("True"))
}

// Argo CD may create no Namespace for them.
func TestService_createsItsNamespaceInDPUClusters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dpu := testenv.Another(t)
	f.cluster("a", dpu.Kubeconfig)
	s := f.service(f.users, "s", nil)
	f.Eventually(f.ready(s)).Should(Equal("True"))
	made := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: f.users, Name: f.applications()["a/"+f.users].GetName()}
	f.Expect(dpu.Client.Get(t.Context(), key, made)).To(Succeed())
}

// projects of ours, by what is special of their names.
func (f *fixture) projects() (names []string) {
	f.t.Helper()
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(dpuservice.ProjectKind)
	f.Expect(f.List(f.t.Context(), all, client.InNamespace(f.argo))).To(Succeed())
	for i := range all.Items {
		names = append(names, strings.TrimPrefix(all.Items[i].GetName(), "doca-platform-project-"))
	}
	return names
}

func TestProjects_goWithTheLastServiceOfTheirNamespace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster("a", f.itself())
	system, one, two := f.service(f.argo, "s", nil), f.service(f.users, "one", nil), f.service(f.users, "two", nil)
	for _, s := range []*svcv1.DPUService{system, one, two} {
		f.Eventually(f.ready(s)).Should(Equal("True"))
	}
	all := ConsistOf("dpu", "host", HavePrefix("dpu-"+f.users+"-"), HavePrefix("host-"+f.users+"-"))
	f.Expect(f.projects()).To(all)
	f.Expect(f.Delete(t.Context(), one)).To(Succeed())
	f.Eventually(f.gone(one)).Should(BeTrue())
	f.Consistently(f.projects, still).Should(all)
	f.Expect(f.Delete(t.Context(), two)).To(Succeed())
	f.Eventually(f.projects).Should(ConsistOf("dpu", "host"))
	f.Expect(f.ready(system)()).To(Equal("True"))
	f.Expect(f.Delete(t.Context(), system)).To(Succeed())
	f.Eventually(f.projects).Should(BeEmpty())
}

// An earlier release had all Applications in two projects, and let Argo CD create namespaces.
func TestService_ofAnEarlierReleaseMovesToItsProject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.cluster("a", f.itself())
	s := f.service(f.users, "s", nil)
	f.Eventually(f.ready(s)).Should(Equal("True"))
	project := func() string {
		name, _, _ := unstructured.NestedString(f.applications()["a/"+f.users].Object, "spec", "project")
		return name
	}
	now := project()
	earlier := func() {
		a := f.applications()["a/"+f.users]
		f.change(a, func() {
			f.Expect(unstructured.SetNestedField(a.Object, dpuservice.ProjectDPU, "spec", "project")).To(Succeed())
			f.Expect(unstructured.SetNestedStringSlice(a.Object, []string{"CreateNamespace=true"}, "spec", "syncPolicy", "syncOptions")).To(Succeed())
		})
	}
	earlier()
	f.Eventually(project).Should(Equal(now))
	f.Eventually(f.ready(s)).Should(Equal("True"))

	// Its user can't keep it there.
	f.change(s, func() { s.Spec.ServiceID, s.Spec.Interfaces = "s", []string{"missing"} })
	f.Eventually(f.ready(s)).Should(ContainSubstring("DPUServiceInterface missing"))
	earlier()
	f.Eventually(project).Should(Equal(now))
	f.change(s, func() { s.Spec.ServiceID, s.Spec.Interfaces = "", nil })
	f.Eventually(f.ready(s)).Should(Equal("True"))

	// One that is paused stays where it is, and is deleted from there: Argo CD deletes only what a project permits.
	f.change(s, func() { s.Spec.Paused = true })
	f.Eventually(f.ready(s)).Should(ContainSubstring("paused"))
	earlier()
	f.Consistently(project, still).Should(Equal(dpuservice.ProjectDPU))
	f.Expect(f.Delete(t.Context(), s)).To(Succeed())
	f.Eventually(f.gone(s)).Should(BeTrue())
	f.Expect(f.configMaps()).NotTo(ContainElement(HavePrefix("a-s-")))
}
