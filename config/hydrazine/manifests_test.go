package hydrazine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/localstack/overlay"
	"github.com/bedplate/bedplate/internal/manager"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// everything has the centrals on the nodes' ports, too.
func everything(t *testing.T) string {
	t.Helper()
	return testenv.Everything(t, ".", map[string]any{"configMapGenerator": []map[string]any{{
		"name": "bedplate-hydrazine-settings", "namespace": "bedplate-hydrazine-system", "behavior": "merge",
		"literals": []string{"CENTRALS_SERVICE=NodePort", "CENTRALS_ADDRESS=172.18.0.2"},
	}}})
}

// What docs/installation.md tells a user to do, without and with all components: every object is valid, and the Pods keep to
// Pod Security "restricted".
func TestManifests_areTakenWithoutAWarning(t *testing.T) {
	t.Parallel()
	testenv.AddCRDs(t, testenv.Config(t), "testdata/cert-manager.yaml", "testdata/prometheus-operator.yaml")
	testenv.Kubectl(t, "apply", "-k", "default", "--warnings-as-errors")
	file := filepath.Join(t.TempDir(), "everything.yaml")
	NewWithT(t).Expect(os.WriteFile(file, []byte(testenv.Render(t, everything(t))), 0o600)).To(Succeed())
	testenv.Kubectl(t, "apply", "-f", file, "--warnings-as-errors")
	testenv.Kubectl(t, "apply", "-f", "mtls/dpu.yaml", "--warnings-as-errors")
	testenv.Kubectl(t, "apply", "-k", "../hydrazine-agent/daemonset", "--warnings-as-errors")
}

type certificate struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		SecretName string
		CommonName string
		DNSNames   []string
		Usages     []string
		IssuerRef  struct{ Name string }
	}
}

// From the API server's question to the manager's port, and to the Secrets with the certificates.
func TestManifests_leadToTheManagersCertificates(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var hooks admissionregistrationv1.ValidatingWebhookConfiguration
	var service corev1.Service
	var deployment appsv1.Deployment
	var webhooks, agents, authority certificate
	var issuer struct {
		Spec struct{ CA struct{ SecretName string } }
	}
	testenv.Kustomize(t, "default", map[string]any{
		"ValidatingWebhookConfiguration": &hooks, "Service": &service, "Deployment": &deployment,
		"Certificate bedplate-hydrazine-webhooks": &webhooks, "Certificate bedplate-hydrazine-manager": &agents,
		"Certificate bedplate-hydrazine-ca": &authority, "Issuer bedplate-hydrazine": &issuer,
	})
	certDir := manager.Command("manager", "", nil).Flags().Lookup("webhook-cert-dir").DefValue
	testenv.ExpectWebhooks(t, hooks.Webhooks, service, deployment, certDir)
	g.Expect(hooks.Annotations).To(HaveKeyWithValue("cert-manager.io/inject-ca-from", webhooks.Namespace+"/"+webhooks.Name))
	g.Expect(webhooks.Spec.DNSNames).To(ContainElement(service.Name + "." + service.Namespace + ".svc"))
	pod := deployment.Spec.Template.Spec
	g.Expect(pod.Volumes[0].Secret.SecretName).To(Equal(webhooks.Spec.SecretName))
	g.Expect(pod.Volumes[1].Secret.SecretName).To(Equal(agents.Spec.SecretName))
	g.Expect(pod.Containers[0].VolumeMounts[1]).To(HaveField("Name", pod.Volumes[1].Name))
	g.Expect(pod.Containers[0].Args).To(ContainElement("--tls-cert-file=" + pod.Containers[0].VolumeMounts[1].MountPath + "/tls.crt"))
	g.Expect(agents.Spec.Usages).To(ContainElement("client auth"))
	g.Expect(agents.Spec.IssuerRef.Name).To(Equal("bedplate-hydrazine"))
	g.Expect(issuer.Spec.CA.SecretName).To(Equal(authority.Spec.SecretName))
}

// Its Pods are among the last that a full cluster evicts, also where a quota is needed for that, and aren't killed while they
// work.
func TestManifests_keepTheManagerAliveWhileItIsNeeded(t *testing.T) {
	t.Parallel()
	var deployment appsv1.Deployment
	testenv.Kustomize(t, "default", map[string]any{"Deployment": &deployment})
	testenv.ExpectGracefulEnd(t, deployment.Spec.Template.Spec, manager.GracefulShutdown)
	critical := testenv.ExpectCriticalPods(t, "default", "bedplate-hydrazine-centrals")
	NewWithT(t).Expect(critical).To(HaveKeyWithValue("bedplate-hydrazine-manager", "system-cluster-critical"))
	testenv.ExpectCriticalPods(t, "../hydrazine-agent/daemonset")
}

// What performance.md says of the manager's memory is measured with what it has in a cluster.
func TestManifests_limitTheManagersMemoryAsMeasured(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var deployment appsv1.Deployment
	testenv.Kustomize(t, "default", map[string]any{"Deployment": &deployment})
	container := deployment.Spec.Template.Spec.Containers[0]
	g.Expect(container.Env).To(ContainElement(corev1.EnvVar{Name: "GOMEMLIMIT", Value: overlay.ManagerMemory}))
	collector := resource.MustParse(strings.TrimSuffix(overlay.ManagerMemory, "B")) // as Kubernetes writes it
	g.Expect(container.Resources.Limits.Memory().AsApproximateFloat64()).To(BeNumerically(">", 1.1*collector.AsApproximateFloat64()),
		"what the collector doesn't count has room too")
}

// A client that reads the Secrets of the authority, the proxy and the DPUs can impersonate any of them. The manager gets its
// own as a file.
func TestManifests_letTheManagerReadTheSecretsOfCentralsOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var everywhere, metricsAuth rbacv1.ClusterRole
	var role, election rbacv1.Role
	all := testenv.Kustomize(t, everything(t), map[string]any{
		"ClusterRole bedplate-hydrazine-manager": &everywhere, "ClusterRole bedplate-hydrazine-manager-metrics-auth": &metricsAuth,
		"Role bedplate-hydrazine-manager": &role, "Role bedplate-hydrazine-manager-leader-election": &election,
	})
	for _, rule := range slices.Concat(everywhere.Rules, metricsAuth.Rules, election.Rules) {
		g.Expect(rule.Resources).NotTo(Or(ContainElement("secrets"), ContainElement("pods"), ContainElement("deployments"), ContainElement("*")))
	}
	var there []string
	for _, object := range all {
		g.Expect(object.Kind).NotTo(Equal("Secret"))
		if object.Namespace == role.Namespace {
			there = append(there, object.Kind)
		}
	}
	g.Expect(there).To(ConsistOf("ResourceQuota", "Role", "RoleBinding"), "cert-manager has no Secrets there")
	g.Expect(all).To(ContainElement(And(HaveField("Kind", "Namespace"), HaveField("Name", role.Namespace),
		HaveField("Labels", HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted")))))
}

func TestComponents_meetTheManager(t *testing.T) {
	t.Parallel()
	testenv.ComponentsMeetTheManager(t, ".", everything(t), "bedplate-hydrazine")
}
