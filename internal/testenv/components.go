package testenv

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// Everything is a folder with the default and all components of a program, from its folder of config, as docs/installation.md says, with more
// in its kustomization.
func Everything(t testing.TB, config string, more map[string]any) string {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	here, err := filepath.Abs(config)
	g.Expect(err).NotTo(HaveOccurred())
	here, err = filepath.Rel(dir, here)
	g.Expect(err).NotTo(HaveOccurred())
	components, err := filepath.Glob(filepath.Join(config, "components", "*"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(components).NotTo(BeEmpty())
	for i := range components {
		components[i] = filepath.Join(here, "components", filepath.Base(components[i]))
	}
	all := map[string]any{"resources": []string{filepath.Join(here, "default")}, "components": components}
	maps.Copy(all, more)
	overlay, err := yaml.Marshal(all)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), overlay, 0o600)).To(Succeed())
	return dir
}

// ComponentsMeetTheManager checks that selectors by label and ports by name match the manager, and that its metrics are read with the
// certificate that it serves. Everything is a folder of that, the name such as "bedplate-bmm", and policies are those beside the one of
// what may come in.
func ComponentsMeetTheManager(t testing.TB, config, everything, name string, policies ...string) {
	t.Helper()
	g := NewWithT(t)
	var manager appsv1.Deployment
	var budget policyv1.PodDisruptionBudget
	var policy networkingv1.NetworkPolicy
	var service, webhooks corev1.Service
	var monitor serviceMonitor
	var certificate struct {
		Spec struct {
			SecretName string
			DNSNames   []string
		}
	}
	into := map[string]any{
		"Deployment " + name + "-manager": &manager, "PodDisruptionBudget " + name + "-manager": &budget,
		"NetworkPolicy " + name + "-manager": &policy, "Service " + name + "-metrics": &service,
		"Service " + name + "-webhooks": &webhooks, "ServiceMonitor " + name + "-manager": &monitor,
		"Certificate " + name + "-webhooks": &certificate,
	}
	others := make([]networkingv1.NetworkPolicy, len(policies))
	for i := range policies {
		into["NetworkPolicy "+policies[i]] = &others[i]
	}
	Kustomize(t, everything, into)
	Kustomize(t, filepath.Join(config, "default"), map[string]any{"PodDisruptionBudget " + name + "-manager": &budget}) // not a component

	selectors := []map[string]string{budget.Spec.Selector.MatchLabels, policy.Spec.PodSelector.MatchLabels, service.Spec.Selector}
	for _, other := range others {
		selectors = append(selectors, other.Spec.PodSelector.MatchLabels)
	}
	for _, selector := range selectors {
		g.Expect(selector).NotTo(BeEmpty())
		g.Expect(labels.SelectorFromSet(selector).Matches(labels.Set(manager.Spec.Template.Labels))).To(BeTrue(), "%v", selector)
	}
	g.Expect(budget.Spec.MinAvailable.IntValue()).To(BeNumerically("<", *manager.Spec.Replicas), "nodes can be drained")

	open := openPorts(policy)
	g.Expect(open).To(ConsistOf(webhooks.Spec.Ports[0].TargetPort.String(), service.Spec.Ports[0].TargetPort.String()))
	var ports []string
	for _, port := range manager.Spec.Template.Spec.Containers[0].Ports {
		ports = append(ports, port.Name)
	}
	g.Expect(ports).To(ContainElements(open))

	g.Expect(labels.SelectorFromSet(monitor.Spec.Selector.MatchLabels).Matches(labels.Set(service.Labels))).To(BeTrue())
	g.Expect(monitor.Spec.Endpoints).To(HaveLen(1))
	endpoint := monitor.Spec.Endpoints[0]
	g.Expect(endpoint.Port).To(Equal(service.Spec.Ports[0].Name))
	g.Expect(certificate.Spec.DNSNames).To(ContainElement(endpoint.TLSConfig.ServerName))
	g.Expect(endpoint.TLSConfig.CA.Secret.Name).To(Equal(certificate.Spec.SecretName))
}

// serviceMonitor is one of Prometheus' operator.
type serviceMonitor struct {
	Spec struct {
		Selector  metav1.LabelSelector
		Endpoints []struct {
			Port      string
			TLSConfig struct {
				ServerName string
				CA         struct{ Secret corev1.SecretKeySelector }
			}
		}
	}
}

func openPorts(policy networkingv1.NetworkPolicy) (open []string) {
	for _, rule := range policy.Spec.Ingress {
		for _, port := range rule.Ports {
			open = append(open, port.Port.String())
		}
	}
	return open
}
