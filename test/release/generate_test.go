package release

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bedplate/bedplate/internal/testenv"
)

// A template with an unknown field, or one that a rule of the CRDs or a webhook of ours refuses, is of no use.
func TestGenerateCluster_isTakenByAManagementCluster(t *testing.T) {
	t.Parallel()
	ctl := newClusterctl(t)
	testenv.AddCRDs(t, testenv.Config(t),
		ctl.bin.Path("manifests", "bootstrap-kubeadm.yaml"), ctl.bin.Path("manifests", "control-plane-kubeadm.yaml"))
	for flavor, kinds := range flavors {
		t.Run(flavor.String(), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			namespace := testenv.Namespace(t)
			objects := objectsOf(g, ctl.must(t, flavor.generate("blue", namespace)...))
			g.Expect(kindsOf(objects)).To(ContainElements(append(slices.Clone(kinds), "Secret", "Cluster")))
			c := client.WithFieldValidation(testenv.Client(t), metav1.FieldValidationStrict)
			for _, object := range objects {
				g.Expect(object.GetNamespace()).To(Equal(namespace), "%s %s", object.GetKind(), object.GetName())
				g.Expect(c.Create(t.Context(), object)).To(Succeed(), "%s %s", object.GetKind(), object.GetName())
			}
			g.Expect(replicasOf(objects)).To(ConsistOf(int64(3), int64(5)))
		})
	}
}

func kindsOf(objects []*unstructured.Unstructured) (kinds []string) {
	for _, object := range objects {
		kinds = append(kinds, object.GetKind())
	}
	return kinds
}

// replicasOf returns what the objects ask for, wherever their kind says it.
func replicasOf(objects []*unstructured.Unstructured) (all []int64) {
	for _, object := range objects {
		if count, ok, _ := unstructured.NestedInt64(object.Object, "spec", "replicas"); ok {
			all = append(all, count)
		}
		if count, ok, _ := unstructured.NestedInt64(object.Object, "spec", "topology", "controlPlane", "replicas"); ok {
			all = append(all, count)
		}
		deployments, _, _ := unstructured.NestedSlice(object.Object, "spec", "topology", "workers", "machineDeployments")
		for _, deployment := range deployments {
			count, _, _ := unstructured.NestedInt64(deployment.(map[string]any), "replicas")
			all = append(all, count)
		}
	}
	return all
}

func TestGenerateCluster_asksForWhatOnlyTheUserKnows(t *testing.T) {
	t.Parallel()
	ctl := newClusterctl(t)
	out := ctl.must(t, "generate", "cluster", "blue", "--infrastructure", "nvidia-bmm:"+version, "--target-namespace", "blue",
		"--list-variables")
	required, _, found := strings.Cut(out, "Optional Variables:")
	g := NewWithT(t)
	g.Expect(found).To(BeTrue(), out)
	for name := range variables {
		g.Expect(required).To(ContainSubstring(name))
	}
	g.Expect(strings.Count(required, "  - ")).To(Equal(len(variables)+len([]string{"KUBERNETES_VERSION"})), required)
}

// clusterctl replaces variables in all text and moves everything into the namespace that the user chooses.
func TestGenerateProvider_changesTheNamespaceAndNothingElse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctl := newClusterctl(t)
	file := filepath.Join(ctl.repository, "infrastructure-nvidia-bmm", version, "infrastructure-components.yaml")
	components, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	written := objectsOf(g, string(components))
	same := objectsOf(g, ctl.must(t, "generate", "provider", "--infrastructure", "nvidia-bmm:"+version))
	g.Expect(kindsOf(same)).To(ConsistOf(kindsOf(written)))
	for _, object := range written {
		if object.GetKind() == "CustomResourceDefinition" { // its patterns and descriptions are no templates
			g.Expect(same).To(ContainElement(HaveField("Object", HaveKeyWithValue("spec", HaveKeyWithValue("versions",
				BeEquivalentTo(object.Object["spec"].(map[string]any)["versions"]))))), object.GetName())
		}
	}

	moved := ctl.must(t, "generate", "provider", "--infrastructure", "nvidia-bmm:"+version, "--target-namespace", "elsewhere")
	g.Expect(moved).NotTo(ContainSubstring("bedplate-bmm-system"))
	g.Expect(moved).To(ContainSubstring("image: " + image))
}

func TestRelease_takesItsImagesFromTheVersionUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	ctl := newRepository(t)
	for _, row := range []struct{ image, manager, cloudControllerManager string }{
		{"", `\S+/bmm-manager:v0\.1\.8`, `\S+/bmm-cloud-controller-manager:v0\.1\.8`},
		{"registry.example.com:5000/metal/bmm-manager:x", `registry\.example\.com:5000/metal/bmm-manager:x`,
			`registry\.example\.com:5000/metal/bmm-cloud-controller-manager:x`},
		{"1e5:dev", `"?1e5:dev"?`, `"?bmm-cloud-controller-manager:dev"?`},
		{"bmm-manager:dev", `bmm-manager:dev`, `bmm-cloud-controller-manager:dev`},
	} {
		release := ctl.release(t, "v0.1.8", row.image)
		for file, image := range map[string]string{
			"infrastructure-components.yaml": row.manager, "cluster-template.yaml": row.cloudControllerManager,
			"cluster-template-fnn.yaml": row.cloudControllerManager, "cluster-template-topology.yaml": row.cloudControllerManager,
		} {
			g := NewWithT(t)
			text, err := os.ReadFile(filepath.Join(release, file))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(text)).To(MatchRegexp(`(?m)^ +image: `+image+`$`), file)
		}
	}
}

func TestRelease_refusesWhatClusterctlOrAClusterCouldNotTake(t *testing.T) {
	t.Parallel()
	ctl := newRepository(t)
	for _, row := range []struct{ version, image, complaint string }{
		{"v0.99.0", "", "no release series for v0.99.0"},
		{"latest", "", "isn't one like v1.2.3"},
		{"v0.1.0-rc/1", "", "isn't one like v1.2.3"},
		{"v0.1.0/../..", "", "isn't one like v1.2.3"},
		{"v0.1.0+build", "", "isn't one like v1.2.3"},
		{"v0.1.01", "", "isn't one like v1.2.3"},
		{"v0.1.0-rc.01", "", "isn't one like v1.2.3"},
		{"v0.1.0", "registry.example.com:5000/metal/bmm-manager", "has no tag"},
		{"v0.1.0", "registry.example.com/bmm-manager@sha256:0123456789abcdef", "has a digest"},
		{"v0.1.0", "registry.example.com/bmm-manager:v1@sha256:0123456789abcdef", "has a digest"},
		{"v0.1.0", "registry.example.com/BMM-manager:v1", "isn't one like"},
		{"v0.1.0", "registry.example.com/bmm-manager:v1 ", "isn't one like"},
		{"v0.1.0", "https://registry.example.com/bmm-manager:v1", "isn't one like"},
		{"v0.1.0", ":v1", "isn't one like"},
	} {
		g := NewWithT(t)
		out, err := ctl.tryRelease(t, row.version, row.image)
		g.Expect(err).To(HaveOccurred(), row.version+" "+row.image)
		g.Expect(out).To(ContainSubstring(row.complaint))
		g.Expect(os.ReadDir(ctl.repository)).To(BeEmpty(), row.version+" "+row.image)
	}
}
