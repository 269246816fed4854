package dpf_test

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/bedplate/bedplate/internal/dpf/components"
	"github.com/bedplate/bedplate/internal/dpf/preflight"
	"github.com/bedplate/bedplate/internal/manager"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// openshift has what the manifests and the operator need of other programs: their kinds take anything.
func openshift(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	testenv.AddCRDs(t, testenv.Config(t), "testdata/cert-manager.yaml")
	for _, name := range []string{"openshift-ovn-kubernetes", "openshift-network-operator"} {
		g.Expect(testenv.Client(t).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	}
	for _, kind := range [][4]string{
		{"config.openshift.io", "v1", "ClusterVersion", "clusterversions"}, {"kamaji.clastix.io", "v1alpha1", "TenantControlPlane", "tenantcontrolplanes"},
		{"nmstate.io", "v1", "NMState", "nmstates"}, {"nmstate.io", "v1", "NodeNetworkConfigurationPolicy", "nodenetworkconfigurationpolicies"},
		{"security.openshift.io", "v1", "SecurityContextConstraints", "securitycontextconstraints"},
	} {
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: kind[3] + "." + kind[0],
			Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"}}}
		crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind[0], Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: kind[3], Kind: kind[2]},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: kind[1], Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true)}}}},
		}
		_, err := envtest.InstallCRDs(testenv.Config(t), envtest.CRDInstallOptions{
			CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}, MaxTime: time.Minute,
		})
		g.Expect(err).NotTo(HaveOccurred())
	}
}

// Every object is valid; and with these rights the operator looks at all prerequisites, and deploys and removes all components. Without
// the webhook, which nothing serves here.
func TestManifests_areTakenAndTheirRightsAreEnough(t *testing.T) {
	g := NewWithT(t)
	openshift(t)
	testenv.Kubectl(t, "apply", "-k", "default", "--server-side", "--force-conflicts", "--warnings-as-errors")
	testenv.Kubectl(t, "delete", "-f", "webhook/manifests.yaml")
	config, err := clientcmd.BuildConfigFromFlags("", testenv.KubeconfigOf(t, "system:serviceaccount:dpf-operator-system:bedplate-dpf-manager",
		"system:serviceaccounts", "system:authenticated"))
	g.Expect(err).NotTo(HaveOccurred())
	operator, err := client.New(config, client.Options{Scheme: testenv.Scheme(t)})
	g.Expect(err).NotTo(HaveOccurred())

	c := network()
	g.Eventually(func(g Gomega) { // the API server learns a little later of a role
		for _, finding := range preflight.Run(t.Context(), operator, c, nil) {
			g.Expect(finding.Err).NotTo(HaveOccurred(), finding.Name)
		}
	}).WithTimeout(time.Minute).Should(Succeed())

	release := components.Release{Registry: components.DefaultRegistry, Charts: components.DefaultCharts, Version: "v1.2.3"}
	set := components.Set{Client: operator, Reader: operator, Owner: c}
	all, err := release.Render(c, components.HostCluster, false, netip.Prefix{})
	g.Expect(err).NotTo(HaveOccurred())
	for place, network := range map[components.Place]bool{components.HostCluster: true, components.DPUClusters: true} {
		more, err := release.Render(c, place, network, netip.MustParsePrefix("192.0.2.0/24"))
		g.Expect(err).NotTo(HaveOccurred())
		all = append(all, more...)
	}
	g.Eventually(func() error { // the API server refuses services until it has read the configurations that their policy asks for
		_, err := set.Apply(t.Context(), all)
		return err
	}).WithTimeout(time.Minute).WithPolling(time.Second).Should(Succeed())
	state, err := set.Apply(t.Context(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(state.Going).To(HaveLen(len(all)))
	// There is no controller that takes the finalizer off.
	testenv.Kubectl(t, "-n", "dpf-operator-system", "patch", "pvc", "bfb-pvc", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)

	// More isn't given: not even to itself.
	mine := all[1].DeepCopy()
	mine.SetName("mine")
	g.Expect(mine.Object["roleRef"]).To(HaveKeyWithValue("kind", "ClusterRole"))
	mine.Object["roleRef"].(map[string]any)["name"] = "cluster-admin"
	g.Expect(operator.Create(t.Context(), mine)).To(MatchError(apierrors.IsForbidden, "forbidden"))

	t.Run("controller", func(t *testing.T) { controllerStarts(t, config) })
	t.Run("network", func(t *testing.T) { networkMoves(t, config) })
}

// From the API server's question to the manager's port, and to the Secret with the certificate.
func TestManifests_leadTheAPIServerToTheWebhooks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var hooks admissionregistrationv1.ValidatingWebhookConfiguration
	var service corev1.Service
	var deployment appsv1.Deployment
	testenv.Kustomize(t, "default", map[string]any{"ValidatingWebhookConfiguration": &hooks, "Service": &service, "Deployment": &deployment})
	flags := manager.Command("manager", "", nil).Flags()
	testenv.ExpectWebhooks(t, hooks.Webhooks, service, deployment, flags.Lookup("webhook-cert-dir").DefValue)
	g.Expect(hooks.Annotations).To(HaveKeyWithValue("cert-manager.io/inject-ca-from", "dpf-operator-system/bedplate-dpf-webhooks"))
	g.Expect(flags.Parse(deployment.Spec.Template.Spec.Containers[0].Args)).To(Succeed())
}

func TestManifests_keepTheManagerAliveWhileItIsNeeded(t *testing.T) {
	t.Parallel()
	var deployment appsv1.Deployment
	testenv.Kustomize(t, "default", map[string]any{"Deployment": &deployment})
	testenv.ExpectGracefulEnd(t, deployment.Spec.Template.Spec, manager.GracefulShutdown)
	NewWithT(t).Expect(testenv.ExpectCriticalPods(t, "default")).To(HaveKeyWithValue("bedplate-dpf-manager", "system-cluster-critical"))
}

func TestComponents_meetTheManager(t *testing.T) {
	t.Parallel()
	testenv.ComponentsMeetTheManager(t, ".", testenv.Everything(t, ".", nil), "bedplate-dpf")
}
