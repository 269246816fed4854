package config_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/manager"
	"github.com/bedplate/bedplate/internal/testenv"
)

// What docs/installation.md tells a user to do, without and with all components: every object is valid, and the Pods keep to
// Pod Security "restricted". It isn't parallel: meanwhile the webhooks are those of the manifests, which nothing serves.
func TestManifests_areTakenWithoutAWarning(t *testing.T) {
	testenv.AddCRDs(t, testenv.Config(t), "testdata/cert-manager.yaml", "testdata/prometheus-operator.yaml")
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			g := NewWithT(t)
			c, hooks := testenv.Client(t), &admissionregistrationv1.ValidatingWebhookConfiguration{}
			hooks.Name = p.prefix() + "-webhooks"
			g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(hooks), hooks)).To(Succeed())
			served := hooks.DeepCopy()
			g.Expect(c.Delete(t.Context(), hooks)).To(Succeed())
			file := filepath.Join(t.TempDir(), "all.yaml")
			for _, folder := range []string{p.folder("default"), testenv.Everything(t, p.name, nil)} {
				g.Expect(os.WriteFile(file, []byte(testenv.Render(t, folder)), 0o600)).To(Succeed())
				testenv.Kubectl(t, "apply", "-f", file, "--server-side", "--force-conflicts", "--warnings-as-errors")
			}
			g.Expect(c.Delete(t.Context(), hooks)).To(Succeed())
			served.ResourceVersion = ""
			g.Expect(c.Create(t.Context(), served)).To(Succeed())
		})
	}
}

// From the API server's question to the manager's port, and to the Secret with the certificate.
func TestManifests_leadTheAPIServerToTheWebhooks(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
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
		testenv.Kustomize(t, p.folder("default"), map[string]any{
			"ValidatingWebhookConfiguration": &hooks, "Service": &service, "Deployment": &deployment,
			"Certificate " + p.prefix() + "-webhooks": &certificate,
		})
		g.Expect(hooks.Webhooks).To(HaveLen(p.webhooks))
		certDir := manager.EngineCommand("manager", "", nil).Flags().Lookup("webhook-cert-dir").DefValue
		testenv.ExpectWebhooks(t, hooks.Webhooks, service, deployment, certDir)
		g.Expect(hooks.Annotations).To(HaveKeyWithValue("cert-manager.io/inject-ca-from", certificate.Namespace+"/"+certificate.Name))
		g.Expect(certificate.Spec.DNSNames).To(ContainElement(service.Name + "." + service.Namespace + ".svc"))
		g.Expect(deployment.Spec.Template.Spec.Volumes[0].Secret.SecretName).To(Equal(certificate.Spec.SecretName))
		g.Expect(certificate.Namespace).To(Equal(deployment.Namespace))
	})
}

// Its Pods are among the last that a full cluster evicts, also where a quota is needed for that, and aren't killed while they
// work.
func TestManifests_keepTheManagerAliveWhileItIsNeeded(t *testing.T) {
	each(t, func(t *testing.T, p provider) {
		var deployment appsv1.Deployment
		testenv.Kustomize(t, p.folder("default"), map[string]any{"Deployment": &deployment})
		testenv.ExpectGracefulEnd(t, deployment.Spec.Template.Spec, p.call)
		critical := testenv.ExpectCriticalPods(t, p.folder("default"))
		NewWithT(t).Expect(critical).To(HaveKeyWithValue(p.prefix()+"-manager", "system-cluster-critical"))
	})
}
