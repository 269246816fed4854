package bmm_test

import (
	"net/netip"
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

	"github.com/bedplate/bedplate/internal/egress"
	"github.com/bedplate/bedplate/internal/testenv"
)

// everything is a folder with the default and all components, as docs/installation.md says.
func everything(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	here, err := filepath.Abs(".")
	g.Expect(err).NotTo(HaveOccurred())
	here, err = filepath.Rel(dir, here)
	g.Expect(err).NotTo(HaveOccurred())
	components, err := filepath.Glob("components/*")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(components).NotTo(BeEmpty())
	for i := range components {
		components[i] = filepath.Join(here, components[i])
	}
	overlay, err := yaml.Marshal(map[string]any{
		"resources": []string{filepath.Join(here, "default")}, "components": components,
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), overlay, 0o600)).To(Succeed())
	return dir
}

// Selectors by label and ports by name match the manager.
func TestComponents_meetTheManager(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var manager appsv1.Deployment
	var budget policyv1.PodDisruptionBudget
	var policy, out networkingv1.NetworkPolicy
	var service, webhooks corev1.Service
	var monitor struct {
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
	var certificate struct {
		Spec struct {
			SecretName string
			DNSNames   []string
		}
	}
	into := map[string]any{
		"Deployment bedplate-bmm-manager": &manager, "PodDisruptionBudget bedplate-bmm-manager": &budget,
		"NetworkPolicy bedplate-bmm-manager": &policy, "NetworkPolicy bedplate-bmm-manager-egress": &out, "Service bedplate-bmm-metrics": &service,
		"Service bedplate-bmm-webhooks": &webhooks, "ServiceMonitor bedplate-bmm-manager": &monitor,
		"Certificate bedplate-bmm-webhooks": &certificate,
	}
	testenv.Kustomize(t, everything(t), into)
	testenv.Kustomize(t, "default", map[string]any{"PodDisruptionBudget bedplate-bmm-manager": &budget}) // not a component

	pod := labels.Set(manager.Spec.Template.Labels)
	for _, selector := range []map[string]string{
		budget.Spec.Selector.MatchLabels, policy.Spec.PodSelector.MatchLabels, out.Spec.PodSelector.MatchLabels, service.Spec.Selector,
	} {
		g.Expect(selector).NotTo(BeEmpty())
		g.Expect(labels.SelectorFromSet(selector).Matches(pod)).To(BeTrue(), "%v", selector)
	}
	g.Expect(budget.Spec.MinAvailable.IntValue()).To(BeNumerically("<", *manager.Spec.Replicas), "nodes can be drained")

	ports := map[string]bool{}
	for _, port := range manager.Spec.Template.Spec.Containers[0].Ports {
		ports[port.Name] = true
	}
	var open []string
	for _, rule := range policy.Spec.Ingress {
		for _, port := range rule.Ports {
			open = append(open, port.Port.String())
		}
	}
	g.Expect(open).To(ConsistOf(webhooks.Spec.Ports[0].TargetPort.String(), service.Spec.Ports[0].TargetPort.String()))
	g.Expect(ports).To(And(HaveKey(open[0]), HaveKey(open[1])))

	g.Expect(labels.SelectorFromSet(monitor.Spec.Selector.MatchLabels).Matches(labels.Set(service.Labels))).To(BeTrue())
	g.Expect(monitor.Spec.Endpoints).To(HaveLen(1))
	endpoint := monitor.Spec.Endpoints[0]
	g.Expect(endpoint.Port).To(Equal(service.Spec.Ports[0].Name))
	g.Expect(certificate.Spec.DNSNames).To(ContainElement(endpoint.TLSConfig.ServerName))
	g.Expect(endpoint.TLSConfig.CA.Secret.Name).To(Equal(certificate.Spec.SecretName))
}

// The network lets through what the manager needs, and keeps back at the same ranges as the manager itself.
func TestEgressPolicy_isThatOfTheManager(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var policy networkingv1.NetworkPolicy
	testenv.Kustomize(t, everything(t), map[string]any{"NetworkPolicy bedplate-bmm-manager-egress": &policy})
	g.Expect(policy.Spec.PolicyTypes).To(ConsistOf(networkingv1.PolicyTypeEgress))
	ports := map[int]bool{} // and whether it is everywhere
	for _, rule := range policy.Spec.Egress {
		for _, port := range rule.Ports {
			ports[port.Port.IntValue()] = len(rule.To) == 0
		}
	}
	g.Expect(ports).To(Equal(map[int]bool{53: true, 5353: true, 6443: true, 443: false}))
	for _, rule := range policy.Spec.Egress {
		for _, to := range rule.To {
			all := netip.MustParsePrefix(to.IPBlock.CIDR)
			for _, inside := range egress.Inside() {
				if inside.Addr().Is4() == all.Addr().Is4() {
					g.Expect(to.IPBlock.Except).To(ContainElement(inside.String()))
				}
			}
		}
	}
}
