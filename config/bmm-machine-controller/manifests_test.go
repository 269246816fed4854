package bmmmachinecontroller_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	bmm "github.com/bedplate/bedplate/internal/bmm/client"
	"github.com/bedplate/bedplate/internal/manager"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const namespace = "openshift-machine-api"

// Every object is valid, and the Pods keep to Pod Security "restricted".
func TestManifests_areTakenWithoutAWarning(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	restricted := map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}
	openshifts := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: restricted}}
	g.Expect(testenv.Client(t).Create(t.Context(), openshifts)).To(Succeed())
	testenv.Kubectl(t, "apply", "-k", "default", "--warnings-as-errors")
}

// From the API server's question to the controller's port, and to the Secret with the certificate.
func TestManifests_leadTheAPIServerToTheWebhooks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var hooks admissionregistrationv1.ValidatingWebhookConfiguration
	var service corev1.Service
	var deployment appsv1.Deployment
	byKind := map[string]any{"ValidatingWebhookConfiguration": &hooks, "Service": &service, "Deployment": &deployment}
	for _, object := range testenv.Kustomize(t, "default", byKind) {
		g.Expect(object.Namespace).To(BeElementOf("", namespace))
	}
	g.Expect(hooks.Webhooks).To(HaveLen(2))
	flags := manager.EngineCommand("manager", "", nil).Flags()
	testenv.ExpectWebhooks(t, hooks.Webhooks, service, deployment, flags.Lookup("webhook-cert-dir").DefValue)
	g.Expect(hooks.Annotations).To(HaveKeyWithValue("service.beta.openshift.io/inject-cabundle", "true"))
	pod := deployment.Spec.Template
	g.Expect(service.Annotations).To(HaveKeyWithValue(
		"service.beta.openshift.io/serving-cert-secret-name", pod.Spec.Volumes[0].Secret.SecretName))
	g.Expect(flags.Parse(pod.Spec.Containers[0].Args)).To(Succeed())
	g.Expect(flags.Lookup("namespace").Value.String()).To(Equal(namespace))
}

// Its Pods are among the last that a full cluster evicts, also where a quota is needed for that, and aren't killed while they
// work.
func TestManifests_keepTheControllerAliveWhileItIsNeeded(t *testing.T) {
	t.Parallel()
	var deployment appsv1.Deployment
	testenv.Kustomize(t, "default", map[string]any{"Deployment": &deployment})
	testenv.ExpectGracefulEnd(t, deployment.Spec.Template.Spec, bmm.DefaultTimeout)
	NewWithT(t).Expect(testenv.ExpectCriticalPods(t, "default")).To(HaveKeyWithValue("bedplate-bmm-machine-controller", "system-cluster-critical"))
}

// Whatever it may do with Secrets and Machines, it may do in one namespace. It reads besides which ranges Services
// have, and which cluster this is.
func TestRBAC_onlyDrainingReachesBeyondTheNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var beyond []string
	for document := range strings.SplitSeq(testenv.Render(t, "rbac"), "\n---\n") {
		var role struct {
			metav1.TypeMeta `json:",inline"`
			Metadata        metav1.ObjectMeta
			Rules           []struct{ Resources []string }
		}
		g.Expect(yaml.Unmarshal([]byte(document), &role)).To(Succeed())
		for _, rule := range role.Rules {
			if role.Kind == "ClusterRole" && role.Metadata.Labels["rbac.authorization.k8s.io/aggregate-to-view"] == "" {
				beyond = append(beyond, rule.Resources...)
			}
		}
	}
	slices.Sort(beyond)
	g.Expect(beyond).To(Equal([]string{"daemonsets", "namespaces", "nodes", "pods", "pods/eviction", "servicecidrs", "subjectaccessreviews", "tokenreviews"}))
}
