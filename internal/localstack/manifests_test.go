package localstack

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/localstack/manifest"
)

func TestServe_pointsWebhooksToTheServerInsteadOfAService(t *testing.T) {
	t.Parallel()

	server := webhookServer{port: 20001, ca: []byte("ca")}
	for name, test := range map[string]struct{ before, after string }{
		"validating webhooks": {
			before: `
kind: ValidatingWebhookConfiguration
webhooks:
  - {name: a, clientConfig: {service: {name: s, namespace: n, path: /a}}}
  - {name: b, clientConfig: {service: {name: s, namespace: n, path: /b}}}`,
			after: `
kind: ValidatingWebhookConfiguration
webhooks:
  - {name: a, clientConfig: {url: "https://127.0.0.1:20001/a", caBundle: Y2E=}}
  - {name: b, clientConfig: {url: "https://127.0.0.1:20001/b", caBundle: Y2E=}}`,
		},
		"a CRD's conversion": {
			before: `
kind: CustomResourceDefinition
spec:
  conversion:
    strategy: Webhook
    webhook: {clientConfig: {service: {name: s, namespace: n, path: /convert}}, conversionReviewVersions: [v1]}`,
			after: `
kind: CustomResourceDefinition
spec:
  conversion:
    strategy: Webhook
    webhook: {clientConfig: {url: "https://127.0.0.1:20001/convert", caBundle: Y2E=}, conversionReviewVersions: [v1]}`,
		},
		"a CRD without conversion": {
			before: "kind: CustomResourceDefinition\nspec: {scope: Namespaced}",
			after:  "kind: CustomResourceDefinition\nspec: {scope: Namespaced}",
		},
		"what has no webhooks": {
			before: "kind: Namespace\nmetadata: {name: demo}",
			after:  "kind: Namespace\nmetadata: {name: demo}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			objects, err := manifest.Decode([]byte(test.before))
			g.Expect(err).NotTo(HaveOccurred())
			server.serve(objects[0])
			g.Expect(yaml.Marshal(objects[0].Object)).To(MatchYAML(test.after))
		})
	}
}

func TestUnlisted_isWhatDiscoveryLacks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	crds, err := manifest.Decode([]byte(`
kind: CustomResourceDefinition
apiVersion: apiextensions.k8s.io/v1
metadata: {name: machinesets.cluster.x-k8s.io}
spec:
  group: cluster.x-k8s.io
  names: {kind: MachineSet, plural: machinesets}
  versions:
  - {name: v1beta1, served: true, storage: false}
  - {name: v1beta2, served: true, storage: true}
  - {name: v1alpha4, served: false, storage: false}`))
	g.Expect(err).NotTo(HaveOccurred())
	kinds, err := servedKinds(crds)
	g.Expect(err).NotTo(HaveOccurred())
	kind := func(version string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: version, Kind: "MachineSet"}
	}
	list := func(version, kind string) *metav1.APIResourceList {
		return &metav1.APIResourceList{GroupVersion: "cluster.x-k8s.io/" + version, APIResources: []metav1.APIResource{{Kind: kind}}}
	}
	g.Expect(kinds).To(ConsistOf(kind("v1beta1"), kind("v1beta2")), "and not what isn't served")

	g.Expect(unlisted(kinds, nil)).To(ConsistOf(kind("v1beta1"), kind("v1beta2")))
	g.Expect(unlisted(kinds, []*metav1.APIResourceList{list("v1beta1", "MachineSet"), list("v1beta2", "Machine")})).
		To(ConsistOf(kind("v1beta2")), "another kind of the same group doesn't count")
	g.Expect(unlisted(kinds, []*metav1.APIResourceList{list("v1beta1", "MachineSet"), list("v1beta2", "MachineSet")})).To(BeEmpty())
}

// An API server that is overloaded has created an object although it answers that it ran out of time, or it hasn't.
func TestCreate_goesOnWhereTheAPIServerIsOverloaded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		late, committed bool
		expect          types.GomegaMatcher
	}{
		"not created":   {late: true, expect: Succeed()},
		"created":       {late: true, committed: true, expect: Succeed()},
		"there already": {committed: true, expect: MatchError(apierrors.IsAlreadyExists, "already exists")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "demo"}}}
			var attempts int
			c := interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
					attempts++
					if attempts > 1 {
						return c.Create(ctx, object, options...)
					}
					if test.committed {
						g.Expect(c.Create(ctx, object.DeepCopyObject().(client.Object))).To(Succeed())
					}
					if test.late {
						return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
					}
					return c.Create(ctx, object, options...)
				},
			})
			g.Expect(create(t.Context(), c, object)).To(test.expect)
			g.Expect(c.Get(t.Context(), client.ObjectKey{Name: "demo"}, &corev1.Namespace{})).To(Succeed())
		})
	}
}
