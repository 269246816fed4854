package testenv

import (
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// ExpectWebhooks expects that manifests lead from the API server's question to the port of the program that answers, which has
// the certificate of a Secret, its Pod's first volume, in the folder that it reads. A Pod that is being deleted answers until
// the API server knows that.
func ExpectWebhooks(t testing.TB, hooks []admissionregistrationv1.ValidatingWebhook, service corev1.Service,
	deployment appsv1.Deployment, certDir string,
) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(hooks).NotTo(BeEmpty())
	for _, hook := range hooks {
		g.Expect(hook.ClientConfig.Service.Name).To(Equal(service.Name))
		g.Expect(hook.ClientConfig.Service.Namespace).To(Equal(service.Namespace))
	}
	pod := deployment.Spec.Template
	g.Expect(labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels))).To(BeTrue())
	g.Expect(deployment.Namespace).To(Equal(service.Namespace))
	g.Expect(pod.Spec.Containers[0].Ports).To(ContainElement(And(
		HaveField("Name", service.Spec.Ports[0].TargetPort.String()), HaveField("ContainerPort", int32(webhook.DefaultPort)))))
	g.Expect(pod.Spec.Containers[0].Lifecycle).To(HaveField("PreStop.Sleep.Seconds", BeNumerically(">=", 5)))
	g.Expect(pod.Spec.Volumes[0].Secret).NotTo(BeNil())
	g.Expect(pod.Spec.Containers[0].VolumeMounts).To(ContainElement(And(
		HaveField("Name", pod.Spec.Volumes[0].Name), HaveField("MountPath", certDir))))
}
