package release

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/examples"
	"github.com/bedplate/bedplate/internal/localstack"
)

// Values that YAML takes for something else than a string, wherever there are no quotes.
var tricky = []string{"0491946863192633", "true", "1e5", "null", "0x1f", "2026-11-23"}

// word is a value that YAML takes for a string.
const word = "wordy"

// A value is a string whatever its text, in a document and in those within it: a template is rendered as of any word, and then
// with the word replaced.
func TestGenerateCluster_keepsValuesThatLookLikeNoStrings(t *testing.T) {
	t.Parallel()
	ctl := newClusterctl(t)
	render := func(g Gomega, f flavor, value string) []any {
		values := map[string]string{}
		for name := range all() {
			values[name] = value
		}
		out, err := ctl.runWith(t, values, f.generate(value, value)...)
		g.Expect(err).NotTo(HaveOccurred(), out)
		return documentsIn(g, out)
	}
	for f := range flavors {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			plain := render(NewWithT(t), f, word)
			for _, value := range tricky {
				g := NewWithT(t)
				g.Expect(render(g, f, value)).To(ConsistOf(replaced(plain, word, value).([]any)...), value)
			}
		})
	}
}

// What the lab makes of the examples, and what the page on OpenShift has users make.
func TestExamples_keepValuesThatLookLikeNoStrings(t *testing.T) {
	t.Parallel()
	render := func(g Gomega, example, value string) []any {
		values := map[string]string{
			"CLUSTER_NAME": value, "NAMESPACE": value, "KUBERNETES_VERSION": value, "BMM_VPC_ID": value, "BMM_SUBNET_NAME": value,
			"CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "5",
		}
		for name := range all() {
			values[name] = value
		}
		for name := range (&localstack.Krake{}).Variables() {
			values[name] = value
		}
		out, err := examples.Render(example, values)
		g.Expect(err).NotTo(HaveOccurred())
		return documentsIn(g, string(out))
	}
	for _, example := range examples.Names() {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			plain := render(NewWithT(t), example, word)
			for _, value := range tricky {
				g := NewWithT(t)
				g.Expect(render(g, example, value)).To(Equal(replaced(plain, word, value)), value)
			}
		})
	}
}

// documentsIn decodes YAML, and what is YAML of objects in its strings.
func documentsIn(g Gomega, text string) (documents []any) {
	for document := range strings.SplitSeq(text, "\n---\n") {
		var decoded any
		g.Expect(yaml.Unmarshal([]byte(document), &decoded)).To(Succeed(), document)
		documents = append(documents, nested(g, decoded))
	}
	return documents
}

func nested(g Gomega, value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = nested(g, value[key])
		}
	case []any:
		for i := range value {
			value[i] = nested(g, value[i])
		}
	case string:
		isTemplate := strings.Contains(value, "{{")
		if !isTemplate && strings.Contains(value, ": ") && strings.Contains(value, "\n") {
			return documentsIn(g, value)
		}
	}
	return value
}

// replaced returns a copy in which a word in strings is another.
func replaced(value any, word, by string) any {
	switch value := value.(type) {
	case map[string]any:
		other := map[string]any{}
		for key := range value {
			other[key] = replaced(value[key], word, by)
		}
		return other
	case []any:
		other := make([]any, len(value))
		for i := range value {
			other[i] = replaced(value[i], word, by)
		}
		return other
	case string:
		return strings.ReplaceAll(value, word, by)
	}
	return value
}
