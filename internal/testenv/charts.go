package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/localstack/tools"
	"github.com/bedplate/bedplate/internal/localstack/tools/toolstest"
)

// Chart is what Helm makes of a chart of this repository, as Argo CD has it rendered: with its CRDs, and in a namespace.
func Chart(t testing.TB, name, namespace string, values any) (objects []*unstructured.Unstructured) {
	t.Helper()
	g := NewWithT(t)
	data, err := json.Marshal(values)
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "values.json")
	g.Expect(os.WriteFile(file, data, 0o600)).To(Succeed())
	folder := filepath.Join(tools.ModuleRoot("."), "charts", name)
	var rendered, complaint bytes.Buffer
	command := exec.CommandContext(t.Context(), toolstest.Find(t, "helm").Path("helm"),
		"template", "release", folder, "--namespace", namespace, "--include-crds", "--values", file)
	command.Stdout, command.Stderr = &rendered, &complaint
	g.Expect(command.Run()).To(Succeed(), "%s", &complaint)
	const buffer = 4096
	decoder := yaml.NewYAMLOrJSONDecoder(&rendered, buffer)
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(o); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatalf("decode what Helm makes of %s: %v", name, err)
		}
		if len(o.Object) == 0 { // a comment
			continue
		}
		if namespaced, err := Client(t).IsObjectNamespaced(o); err == nil && namespaced && o.GetNamespace() == "" {
			o.SetNamespace(namespace)
		}
		objects = append(objects, o)
	}
}

// ChartKubeconfig gives the service account of a chart its rights, and returns the path of its kubeconfig.
func ChartKubeconfig(t testing.TB, name, namespace string) (path string) {
	t.Helper()
	g := NewWithT(t)
	for _, o := range Chart(t, name, namespace, map[string]any{"image": "example.com/a"}) {
		if o.GroupVersionKind().Group == "rbac.authorization.k8s.io" {
			g.Expect(Client(t).Create(t.Context(), o)).To(Succeed())
			t.Cleanup(func() { _ = client.IgnoreNotFound(Client(t).Delete(context.Background(), o)) })
		}
	}
	return KubeconfigOf(t, "system:serviceaccount:"+namespace+":"+name)
}
