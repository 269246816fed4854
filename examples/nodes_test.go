package examples_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// What the examples bring into a new cluster is what config/bmm-cloud-controller-manager has; "make generate" makes it so.
func TestCloudControllerManager_isThatOfConfig(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kubectl := toolstest.Find(t, "kubectl").Path("kubectl")
	wanted, err := exec.CommandContext(t.Context(), kubectl, "kustomize",
		filepath.Join("..", "config", "bmm-cloud-controller-manager", "default")).Output()
	g.Expect(err).NotTo(HaveOccurred())
	data, err := os.ReadFile(filepath.Join("bmm", "cloud-controller-manager.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range objectsOf(g, data) {
		if object.GetKind() == "ConfigMap" {
			manifests, _, err := unstructured.NestedString(object.Object, "data", "cloud-controller-manager.yaml")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(objectsOf(g, []byte(manifests))).To(ConsistOf(objectsOf(g, wanted)))
			return
		}
	}
	t.Fatal("there is no ConfigMap")
}

func objectsOf(g Gomega, data []byte) (objects []unstructured.Unstructured) {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		object := unstructured.Unstructured{}
		err := documents.Decode(&object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		g.Expect(err).NotTo(HaveOccurred())
		objects = append(objects, object)
	}
}
