package localstack

import (
	"testing"

	. "github.com/onsi/gomega"
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
