package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/bedplate/bedplate/internal/testenv"
)

// bundleOf writes a bundle, and returns its files.
func bundleOf(t *testing.T, version, image string) (map[string]string, error) {
	t.Helper()
	out := t.TempDir()
	if err := run(strings.NewReader(testenv.Render(t, "config/dpf/default")), out, version, image); err != nil {
		return nil, err
	}
	return read(t, out), nil
}

func read(t *testing.T, folder string) map[string]string {
	t.Helper()
	g := NewWithT(t)
	files := map[string]string{}
	g.Expect(fs.WalkDir(os.DirFS(folder), ".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".yaml") && !strings.HasPrefix(path, "metadata/") {
			data, err := os.ReadFile(filepath.Join(folder, path))
			files[path] = string(data)
			return err
		}
		return err
	})).To(Succeed())
	return files
}

// What is in the repository is what is made now.
func TestBundle_isCurrent(t *testing.T) {
	t.Chdir("../..")
	g := NewWithT(t)
	files, err := bundleOf(t, "v0.1.0", "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveKey("cluster.yaml"))
	g.Expect(read(t, "config/dpf/bundle")).To(Equal(files), "run make generate-dpf")
}

func TestBundle_isOfTheVersionAndTheImage(t *testing.T) {
	t.Chdir("../..")
	g := NewWithT(t)
	files, err := bundleOf(t, "v0.2.0-rc.1", "registry.example.com:5000/metal/dpf-manager:v0.2.0-rc.1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files["manifests/bedplate-dpf.clusterserviceversion.yaml"]).To(And(
		ContainSubstring("\n  name: bedplate-dpf.v0.2.0-rc.1\n"), ContainSubstring("\n  version: 0.2.0-rc.1\n"),
		ContainSubstring("image: registry.example.com:5000/metal/dpf-manager:v0.2.0-rc.1\n"),
		ContainSubstring("- --image-registry=registry.example.com:5000/metal\n"),
		ContainSubstring("- --chart-registry=oci://registry.example.com:5000/metal/charts\n")))
	for _, wrong := range [][2]string{{"1.2", ""}, {"latest", ""}, {"v1.2.3", "dpf-manager:v1.2.3"}} {
		_, err := bundleOf(t, wrong[0], wrong[1])
		g.Expect(err).To(MatchError(ContainSubstring("isn't one like")), "%s", wrong)
	}
}
