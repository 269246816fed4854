package localstack

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
