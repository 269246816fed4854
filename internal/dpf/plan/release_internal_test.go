package plan

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	operatorv1 "github.com/bedplate/bedplate/api/dpf/operator/v1alpha1"
	"github.com/bedplate/bedplate/internal/dpf/components"
)

// Otherwise a plan would show a change of every component of an operator with images of its own.
func TestRelease_isThatOfTheOperator(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(release(t.Context(), fake.NewClientBuilder().Build())).To(Equal(components.Release{
		Registry: components.DefaultRegistry, Charts: components.DefaultCharts, Version: components.Version()}))
	operator := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorv1.Namespace, Name: operatorName}}
	operator.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Args: []string{
		"--logging-format=json", "--image-registry=registry.example.com:5000/metal", "--components-version=v0.1.0",
		"--service-source-repos=oci://example.com/**"}}}
	g.Expect(release(t.Context(), fake.NewClientBuilder().WithObjects(operator).Build())).To(Equal(components.Release{
		Registry: "registry.example.com:5000/metal", Charts: components.DefaultCharts, Version: "v0.1.0",
		SourceRepos: "oci://example.com/**"}))

	manager := &operator.Spec.Template.Spec.Containers[0]
	manager.Env = []corev1.EnvVar{{Name: components.SourceReposVariable, Value: "https://example.com/**"}}
	g.Expect(release(t.Context(), fake.NewClientBuilder().WithObjects(operator).Build())).
		To(HaveField("SourceRepos", "oci://example.com/**"), "as the operator, which has both")
	manager.Args = nil
	g.Expect(release(t.Context(), fake.NewClientBuilder().WithObjects(operator).Build())).
		To(HaveField("SourceRepos", "https://example.com/**"), "a Subscription of OLM's can set this alone")
}
