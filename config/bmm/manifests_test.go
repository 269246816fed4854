package bmm_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/manager"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// What docs/installation.md tells a user to do, without and with all components: every object is valid, and the Pods keep to
// Pod Security "restricted".
func TestManifests_areTakenWithoutAWarning(t *testing.T) {
	t.Parallel()
	for _, neighbour := range []string{"testdata/cert-manager.yaml", "testdata/prometheus-operator.yaml"} {
		testenv.Kubectl(t, "apply", "-f", neighbour)
		testenv.Kubectl(t, "wait", "-f", neighbour, "--for=condition=Established")
	}
	testenv.Kubectl(t, "apply", "-k", "default", "--warnings-as-errors")
	file := filepath.Join(t.TempDir(), "everything.yaml")
	NewWithT(t).Expect(os.WriteFile(file, []byte(testenv.Render(t, testenv.Everything(t, nil))), 0o600)).To(Succeed())
	testenv.Kubectl(t, "apply", "-f", file, "--warnings-as-errors")
}

// From the API server's question to the manager's port, and to the Secret with the certificate.
func TestManifests_leadTheAPIServerToTheWebhooks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var hooks admissionregistrationv1.ValidatingWebhookConfiguration
	var service corev1.Service
	var deployment appsv1.Deployment
	var certificate struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			SecretName string
			DNSNames   []string
		}
	}
	byKind := map[string]any{
		"ValidatingWebhookConfiguration": &hooks, "Service": &service, "Deployment": &deployment,
		"Certificate bedplate-bmm-webhooks": &certificate,
	}
	testenv.Kustomize(t, "default", byKind)
	g.Expect(hooks.Webhooks).To(HaveLen(3))
	certDir := manager.EngineCommand("manager", "", nil).Flags().Lookup("webhook-cert-dir").DefValue
	testenv.ExpectWebhooks(t, hooks.Webhooks, service, deployment, certDir)
	g.Expect(hooks.Annotations).To(HaveKeyWithValue("cert-manager.io/inject-ca-from", certificate.Namespace+"/"+certificate.Name))
	g.Expect(certificate.Spec.DNSNames).To(ContainElement(service.Name + "." + service.Namespace + ".svc"))
	g.Expect(deployment.Spec.Template.Spec.Volumes[0].Secret.SecretName).To(Equal(certificate.Spec.SecretName))
	g.Expect(certificate.Namespace).To(Equal(deployment.Namespace))
}

// Its Pods are among the last that a full cluster evicts, also where a quota is needed for that, and aren't killed while they
// work.
func TestManifests_keepTheManagerAliveWhileItIsNeeded(t *testing.T) {
	t.Parallel()
	var deployment appsv1.Deployment
	testenv.Kustomize(t, "default", map[string]any{"Deployment": &deployment})
	testenv.ExpectGracefulEnd(t, deployment.Spec.Template.Spec, bmm.DefaultTimeout)
	NewWithT(t).Expect(testenv.ExpectCriticalPods(t, "default")).To(HaveKeyWithValue("bedplate-bmm-manager", "system-cluster-critical"))
}

func TestExplain_tellsAUserWhatAFieldIsFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kubeconfig := testenv.Kubeconfig(t)
	explain := func(field string) (text string) { // what a new CRD says is known to the API server a little later
		g.Eventually(func() (err error) {
			text, err = testenv.RunKubectl(t, kubeconfig, "explain", field)
			return err
		}, time.Minute).Should(Succeed())
		return text
	}
	spec := explain("nvidiabmmcluster.spec")
	g.Expect(spec).To(ContainSubstring("spec says which networks the cluster gets, and where."))
	g.Expect(spec).To(MatchRegexp(`siteRef\t<Object> -required-\n +siteRef names the BMM site`))
	g.Expect(explain("nvidiabmmcluster.spec.vpc.networkSecurityGroup.rules")).To(MatchRegexp(
		`direction\t<string> -required-\n +enum: ingress, egress\n +direction of the traffic: ingress comes to the machine`))
	g.Expect(explain("nvidiabmmmachine.spec.network")).To(MatchRegexp(`subnetName\t<string>\n +subnetName is the name of a subnet`))
}

func TestCRDs_describeEveryField(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	files, err := filepath.Glob("crd/bases/*.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(5))
	for _, file := range files {
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		var crd apiextensionsv1.CustomResourceDefinition
		g.Expect(yaml.UnmarshalStrict(data, &crd)).To(Succeed())
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, part := range []string{"spec", "status"} {
			if fields, ok := schema.Properties[part]; ok {
				g.Expect(undescribed(crd.Spec.Names.Kind+"."+part, fields)).To(BeEmpty())
			}
		}
	}
}

func undescribed(path string, schema apiextensionsv1.JSONSchemaProps) (paths []string) {
	if schema.Description == "" {
		paths = append(paths, path)
	}
	for name, field := range schema.Properties {
		paths = append(paths, undescribed(path+"."+name, field)...)
	}
	if schema.Items != nil {
		for name, field := range schema.Items.Schema.Properties {
			paths = append(paths, undescribed(path+"."+name, field)...)
		}
	}
	return paths
}
