package examples_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bedplate/bedplate/internal/localstack/manifest"
	"github.com/bedplate/bedplate/internal/testenv"
)

// What the examples bring into a new cluster is what config/bmm-cloud-controller-manager has; "make generate" makes it so.
func TestCloudControllerManager_isThatOfConfig(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	wanted := testenv.Render(t, filepath.Join("..", "config", "bmm-cloud-controller-manager", "default"))
	data, err := os.ReadFile(filepath.Join("bmm", "cloud-controller-manager.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range objectsOf(g, data) {
		if object.GetKind() == "ConfigMap" {
			manifests, _, err := unstructured.NestedString(object.Object, "data", "cloud-controller-manager.yaml")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(objectsOf(g, []byte(manifests))).To(ConsistOf(objectsOf(g, []byte(wanted))))
			return
		}
	}
	t.Fatal("there is no ConfigMap")
}

func objectsOf(g Gomega, data []byte) []*unstructured.Unstructured {
	objects, err := manifest.Decode(data)
	g.Expect(err).NotTo(HaveOccurred())
	return objects
}
