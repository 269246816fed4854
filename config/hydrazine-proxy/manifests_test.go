package hydrazineproxy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bedplate/bedplate/internal/hydrazine/proxy"
	"github.com/bedplate/bedplate/internal/manager"
	"github.com/bedplate/bedplate/internal/mtls"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const namespace = "bedplate-hydrazine-system"

// Every object is valid, and the Pods keep to Pod Security "restricted".
func TestManifests_areTakenWithoutAWarning(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	testenv.AddCRDs(t, testenv.Config(t), "testdata/cert-manager.yaml")
	restricted := map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}
	g.Expect(testenv.Client(t).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: restricted}})).To(Succeed())
	testenv.Kubectl(t, "apply", "-k", "default", "--warnings-as-errors")
}

// From a client's call to the program, with flags that it takes and files that are there.
func TestManifests_leadClientsToTheProxy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var deployment appsv1.Deployment
	var service corev1.Service
	var budget policyv1.PodDisruptionBudget
	var policy networkingv1.NetworkPolicy
	var certificate struct {
		Spec struct {
			SecretName string
			DNSNames   []string
		}
	}
	for _, object := range testenv.Kustomize(t, "default", map[string]any{
		"Deployment": &deployment, "Service": &service, "Certificate bedplate-hydrazine-proxy": &certificate,
		"PodDisruptionBudget": &budget, "NetworkPolicy": &policy,
	}) {
		g.Expect(object.Namespace).To(BeElementOf("", namespace))
	}
	pod := deployment.Spec.Template
	for _, selector := range []map[string]string{
		service.Spec.Selector, budget.Spec.Selector.MatchLabels, policy.Spec.PodSelector.MatchLabels, deployment.Spec.Selector.MatchLabels,
	} {
		g.Expect(selector).To(Equal(pod.Labels))
	}
	config, files, flags := proxy.Config{}, mtls.Files{}, manager.ServerCommand("proxy", "", nil).Flags()
	config.AddFlags(flags)
	files.AddFlags(flags)
	g.Expect(flags.Parse(pod.Spec.Containers[0].Args)).To(Succeed())
	g.Expect(config.Validate()).To(Succeed())
	g.Expect(files.Validate()).To(Succeed())
	g.Expect(config.Listen).To(Equal(":9661"))
	testenv.ExpectGracefulEnd(t, pod.Spec, manager.GracefulShutdown)
	g.Expect(pod.Spec.Containers[0].Ports).To(ContainElement(And(
		HaveField("Name", service.Spec.Ports[0].TargetPort.String()), HaveField("ContainerPort", int32(9661)))))
	for _, file := range []string{files.Certificate, files.Key, files.Authorities} {
		g.Expect(filepath.Dir(file)).To(Equal(pod.Spec.Containers[0].VolumeMounts[0].MountPath))
	}
	g.Expect(pod.Spec.Volumes[0].Secret.SecretName).To(Equal(certificate.Spec.SecretName))
	g.Expect(certificate.Spec.DNSNames).To(ContainElement(service.Name + "." + namespace + ".svc"))
}

// with is a folder of the default and a component.
func with(t *testing.T, component string) (folder string) {
	t.Helper()
	g := NewWithT(t)
	folder = t.TempDir()
	here, err := filepath.Abs(".")
	g.Expect(err).NotTo(HaveOccurred())
	here, err = filepath.Rel(folder, here)
	g.Expect(err).NotTo(HaveOccurred())
	everything := fmt.Sprintf("resources: [%s/default]\ncomponents: [%s/components/%s]\n", here, here, component)
	g.Expect(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(everything), 0o600)).To(Succeed())
	return folder
}

// The proxy reads the ConfigMap, and only the user writes it.
func TestComponents_letTheProxyDenyCertificates(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var deployment appsv1.Deployment
	for _, object := range testenv.Kustomize(t, with(t, "deny"), map[string]any{"Deployment": &deployment}) {
		g.Expect(object.Kind).NotTo(Equal("ConfigMap"), "an upgrade would empty it")
	}
	files, flags, pod := mtls.Files{}, manager.ServerCommand("proxy", "", nil).Flags(), deployment.Spec.Template.Spec
	(&proxy.Config{}).AddFlags(flags)
	files.AddFlags(flags)
	g.Expect(flags.Parse(pod.Containers[0].Args)).To(Succeed())
	g.Expect(filepath.Base(files.Denied)).To(Equal("serials"))
	mount := pod.Containers[0].VolumeMounts[1]
	g.Expect(filepath.Dir(files.Denied)).To(Equal(mount.MountPath))
	g.Expect(pod.Volumes[1]).To(And(HaveField("Name", mount.Name), HaveField("ConfigMap.Name", "bedplate-hydrazine-proxy-denied"),
		HaveField("ConfigMap.Optional", BeNil())))
}

// Prometheus finds the port that the proxy serves its metrics at, and the policy lets it through.
func TestComponents_leadPrometheusToTheProxy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var deployment appsv1.Deployment
	var policy networkingv1.NetworkPolicy
	var service corev1.Service
	var monitor struct {
		Spec struct {
			Selector  metav1.LabelSelector
			Endpoints []struct{ Port string }
		}
	}
	testenv.Kustomize(t, with(t, "monitoring"), map[string]any{
		"Deployment": &deployment, "NetworkPolicy": &policy, "Service bedplate-hydrazine-proxy-metrics": &service, "ServiceMonitor": &monitor,
	})
	g.Expect(service.Spec.Selector).To(Equal(deployment.Spec.Template.Labels))
	g.Expect(deployment.Spec.Template.Spec.Containers[0].Ports).To(ContainElement(And(
		HaveField("Name", service.Spec.Ports[0].TargetPort.String()), HaveField("ContainerPort", int32(8443)))))
	g.Expect(policy.Spec.Ingress[1].Ports[0].Port.String()).To(Equal(service.Spec.Ports[0].TargetPort.String()))
	g.Expect(monitor.Spec.Selector.MatchLabels).To(Equal(service.Labels))
	g.Expect(monitor.Spec.Endpoints).To(HaveExactElements(HaveField("Port", service.Spec.Ports[0].Name)))
}
