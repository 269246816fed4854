package hydrazinespeaker_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bedplate/bedplate/internal/manager"
	"github.com/bedplate/bedplate/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestManifests_areTakenWithoutAWarning(t *testing.T) {
	t.Parallel()
	testenv.Kubectl(t, "apply", "-k", "default", "--warnings-as-errors")
}

// When one ends, the other has to be on another machine; its name has to outlive it.
func TestManifests_keepASpeakerOnEachMachine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var deployment appsv1.Deployment
	var budget policyv1.PodDisruptionBudget
	testenv.Kustomize(t, "default", map[string]any{"Deployment": &deployment, "PodDisruptionBudget": &budget})
	g.Expect(*deployment.Spec.Replicas).To(Equal(int32(2)))
	g.Expect(deployment.Spec.Strategy.RollingUpdate.MaxSurge.IntValue()).To(BeZero())
	g.Expect(deployment.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue()).To(Equal(1))
	pod := deployment.Spec.Template
	apart := pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	g.Expect(apart).To(HaveLen(1))
	g.Expect(apart[0].TopologyKey).To(Equal(corev1.LabelHostname))
	for _, selector := range []*metav1.LabelSelector{apart[0].LabelSelector, budget.Spec.Selector, deployment.Spec.Selector} {
		selected, err := metav1.LabelSelectorAsSelector(selector)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(selected.Matches(labels.Set(pod.Labels))).To(BeTrue())
	}
	g.Expect(budget.Spec.MinAvailable.IntValue()).To(Equal(1))
	testenv.ExpectGracefulEnd(t, pod.Spec, manager.GracefulShutdown)
	testenv.ExpectCriticalPods(t, "default")
	g.Expect(pod.Spec.Containers[0].Args).To(ContainElement("--name=$(NODE_NAME)"))
	g.Expect(pod.Spec.Containers[0].Env).To(ContainElement(And(
		HaveField("Name", "NODE_NAME"), HaveField("ValueFrom.FieldRef.FieldPath", "spec.nodeName"))))
	g.Expect(pod.Spec.Containers[0].Args).To(ContainElement("--node-ips=$(NODE_IPS)"))
	g.Expect(pod.Spec.Containers[0].Env).To(ContainElement(And(
		HaveField("Name", "NODE_IPS"), HaveField("ValueFrom.FieldRef.FieldPath", "status.hostIPs"))))
}

// But for the network of the machine it is what Pod Security calls restricted.
func TestManifests_letTheProgramDoLittle(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var deployment appsv1.Deployment
	testenv.Kustomize(t, "default", map[string]any{"Deployment": &deployment})
	pod := deployment.Spec.Template.Spec
	g.Expect(pod.HostNetwork).To(BeTrue())
	pod.HostNetwork = false
	for _, port := range pod.Containers[0].Ports {
		g.Expect(port.HostPort).To(BeZero())
	}
	g.Expect(*pod.SecurityContext.RunAsNonRoot).To(BeTrue())
	g.Expect(pod.SecurityContext.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
	container := pod.Containers[0].SecurityContext
	g.Expect(*container.ReadOnlyRootFilesystem).To(BeTrue())
	g.Expect(*container.AllowPrivilegeEscalation).To(BeFalse())
	g.Expect(container.Capabilities.Drop).To(ConsistOf(corev1.Capability("ALL")))
	g.Expect(container.Capabilities.Add).To(BeEmpty())
	g.Expect(pod.Volumes).To(BeEmpty())
}

func TestManifests_letItReadOneSecretByName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var role rbacv1.Role
	var everywhere rbacv1.ClusterRole
	testenv.Kustomize(t, "default", map[string]any{"Role bedplate-hydrazine-speaker": &role, "ClusterRole bedplate-hydrazine-speaker": &everywhere})
	for _, rule := range everywhere.Rules {
		g.Expect(rule.APIGroups).To(HaveExactElements(HavePrefix("networkfabric.")))
	}
	for _, rule := range role.Rules {
		if strings.Join(rule.Resources, " ") == "secrets" {
			g.Expect(rule.Verbs).To(HaveExactElements("get"))
			g.Expect(rule.ResourceNames).To(HaveExactElements("hydrazine-bgp"))
		}
	}
}
