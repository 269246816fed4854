package webhook_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/testenv"
)

// No field is unknown, refused, pruned or changed, neither by the API server nor by the Go types, which a controller writes back.
func TestManifests_ofTheExistingProviderApplyUnchanged(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(files).To(HaveLen(6))
	c := testenv.Client(t)
	strict := client.WithFieldValidation(c, metav1.FieldValidationStrict)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			namespace := testenv.Namespace(t)
			for document := range strings.SplitSeq(string(text), "\n---\n") {
				g := NewWithT(t)
				object := &unstructured.Unstructured{}
				g.Expect(yaml.Unmarshal([]byte(document), &object.Object)).To(Succeed())
				object.SetNamespace(namespace)
				wanted := object.DeepCopy()
				g.Expect(strict.Create(t.Context(), object)).To(Succeed(), wanted.GetName())
				g.Expect(lost("", wanted.Object, object.Object)).To(BeEmpty())

				typed, err := c.Scheme().New(object.GroupVersionKind())
				g.Expect(err).NotTo(HaveOccurred())
				written := typed.(client.Object)
				g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), written)).To(Succeed())
				written.SetFinalizers([]string{"bedplate.dev/written-back"})
				g.Expect(c.Update(t.Context(), written)).To(Succeed(), wanted.GetName())
				g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
				g.Expect(lost("", wanted.Object, object.Object)).To(BeEmpty())
			}
		})
	}
}

// lost are the fields that differ from what was wanted. Empty texts count as omitted, and a status isn't written with its object.
func lost(path string, wanted, got any) (paths []string) {
	switch wanted := wanted.(type) {
	case map[string]any:
		fields, _ := got.(map[string]any)
		for name, value := range wanted {
			if field := path + "." + name; field != ".status" && field != ".metadata.creationTimestamp" {
				paths = append(paths, lost(field, value, fields[name])...)
			}
		}
	case []any:
		items, _ := got.([]any)
		if len(items) != len(wanted) {
			return []string{path}
		}
		for i, value := range wanted {
			paths = append(paths, lost(path+"[]", value, items[i])...)
		}
	default:
		if fmt.Sprint(wanted) != fmt.Sprint(got) && (wanted != "" || got != nil) {
			return []string{path}
		}
	}
	return paths
}
