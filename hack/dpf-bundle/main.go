// dpf-bundle makes the OLM bundle of DPF's operator from what `kubectl kustomize config/dpf/default` prints on its standard input, so that
// it can't say anything else. Below -out it writes manifests/, which OLM installs, and cluster.yaml, which has what OLM doesn't install.
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/bedplate/bedplate/internal/localstack/manifest"
)

const packageName = "bedplate-dpf"

//go:embed base.yaml
var base []byte

func main() {
	out := flag.String("out", "config/dpf/bundle", "folder of the bundle")
	version := flag.String("version", "v0.1.0", "version of the release")
	image := flag.String("image", "", "image of the operator; those of components are beside it; default: that of the manifests")
	flag.Parse()
	if err := run(os.Stdin, *out, *version, *image); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out, version, image string) error {
	number := strings.TrimPrefix(version, "v")
	if _, err := semver.Parse(number); err != nil {
		return fmt.Errorf("the version %s isn't one like v1.2.3 or v1.2.3-rc.1: %w", version, err)
	}
	if image != "" && path.Dir(image) == "." {
		return fmt.Errorf("the image %s isn't one like registry.example.com/dpf-manager:v1.2.3", image)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read the manifests: %w", err)
	}
	objects, err := manifest.Decode(data)
	if err != nil {
		return fmt.Errorf("read the manifests: %w", err)
	}
	b := bundle{objects: objects, version: number, image: image, files: map[string]*unstructured.Unstructured{}}
	docs, err := os.ReadFile(filepath.Join("docs", "dpf.md"))
	if err != nil {
		return err
	}
	if b.examples, err = examples(docs); err != nil {
		return err
	}
	if err := yaml.Unmarshal(base, &b.csv.Object); err != nil {
		return fmt.Errorf("read base.yaml: %w", err)
	}
	if err := b.fill(); err != nil {
		return err
	}
	return b.write(out)
}

// examples are the first one of each kind in the documentation.
func examples(docs []byte) (all []*unstructured.Unstructured, _ error) {
	for _, block := range regexp.MustCompile("(?s)\n```yaml\n(.*?)\n```\n").FindAllSubmatch(docs, -1) {
		objects, err := manifest.Decode(block[1])
		if err != nil {
			return nil, fmt.Errorf("read the examples of docs/dpf.md: %w", err)
		}
		for _, o := range objects {
			if !slices.ContainsFunc(all, func(other *unstructured.Unstructured) bool { return other.GetKind() == o.GetKind() }) {
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// write all files. Those of before are gone.
func (b *bundle) write(out string) error {
	manifests := filepath.Join(out, "manifests")
	if err := os.RemoveAll(manifests); err != nil {
		return err
	}
	if err := os.MkdirAll(manifests, 0o755); err != nil { //nolint:gosec // OLM reads the image as any user
		return err
	}
	for name, object := range b.files {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(manifests, name), text, 0o644); err != nil { //nolint:gosec // see above
			return err
		}
	}
	slices.SortStableFunc(b.cluster, func(a, b *unstructured.Unstructured) int { // the namespace is first
		return strings.Compare(fmt.Sprint(a.GetKind() != "Namespace"), fmt.Sprint(b.GetKind() != "Namespace"))
	})
	var all [][]byte
	for _, object := range b.cluster {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("write cluster.yaml: %w", err)
		}
		all = append(all, text)
	}
	head := "# What OLM installs of no bundle. A cluster's administrator applies it before the operator is installed.\n---\n"
	text := append([]byte(head), bytes.Join(all, []byte("---\n"))...)
	return os.WriteFile(filepath.Join(out, "cluster.yaml"), text, 0o644) //nolint:gosec // see above
}
